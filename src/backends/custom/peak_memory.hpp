#pragma once

#include <algorithm>

#include <iterscope/backend.hpp>
#include <iterscope/device.hpp>

#include "../../core/units.hpp"

namespace iterscope {

// The device has one peak counter, regions nest: before a frame lowers the counter, the peak so
// far is handed to the frame that is open around it, and a frame that ends hands its own down.

inline void begin_peak(Device& device, Frame& root)
{
    device.reset_peak_bytes();
    root.peak_bytes = 0;
}

inline void enter_peak(Device& device, Frame& frame, Frame& parent)
{
    parent.peak_bytes = std::max(parent.peak_bytes, device.peak_bytes());
    device.reset_peak_bytes();
    frame.peak_bytes = 0;
}

inline void leave_peak(Device& device, Frame& frame, Frame& parent)
{
    frame.peak_bytes = std::max(frame.peak_bytes, device.peak_bytes());
    parent.peak_bytes = std::max(parent.peak_bytes, frame.peak_bytes);
}

inline void end_peak(Device& device, Frame& root)
{
    root.peak_bytes = std::max(root.peak_bytes, device.peak_bytes());
}

}  // namespace iterscope
