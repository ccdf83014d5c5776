#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include "../timeline/device_timeline.hpp"

namespace iterscope {

/// How an opened region looks among Kineto's events: a label with this beginning in its name
/// (which only this process knows) and the number of the mark as debug handle.
const std::string& mark_prefix();

/// Opened regions get these debug handles, counted up from the first.
inline constexpr std::int64_t k_first_mark_handle = 0x17E5'C09E'0000'0000;

/// The events of a recorded stretch as plain structs; memory on `device` only. Names point into
/// `result`. `marks` and `notes` are for the caller to fill in.
DeviceTimeline read_events(const ::torch::autograd::profiler::ProfilerResult& result,
                           c10::Device device);

/// Number of opened regions among the events: all of them, unless somebody else stopped the
/// recording.
std::size_t count_marks(const DeviceTimeline& timeline);

}  // namespace iterscope
