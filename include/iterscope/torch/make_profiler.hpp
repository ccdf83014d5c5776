#pragma once

#include <functional>
#include <memory>
#include <string>

#include <iterscope/profiler.hpp>

namespace iterscope::torch {

/// The device that PyTorch calls `text` ("cpu", "cuda", "cuda:1", ...). Throws ConfigError on a
/// name that PyTorch does not know and on an index that the machine does not have. Where the
/// machine has no such accelerator at all, `warn` gets one line and the result has nothing to
/// wait for and no memory statistics. No device is initialised: until the program does it, there
/// is nothing to measure.
std::shared_ptr<Device> make_device(const std::string& text,
                                    const std::function<void(const std::string&)>& warn);

/// `iterscope::make_profiler` with `options.device` found through PyTorch. Throws ConfigError,
/// also when the PyTorch that is loaded is not the one that iterscope was built against.
std::unique_ptr<Profiler> make_profiler(Options options, Services services = {});

/// PyTorch that iterscope was built against, e.g. "2.14.1", and the one that is loaded.
std::string built_version();
std::string loaded_version();

}  // namespace iterscope::torch
