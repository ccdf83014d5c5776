#pragma once

#include <string>

#include <c10/core/Device.h>

namespace iterscope {

/// A device that was asked for, and how many of its type this process sees (1 for the CPU).
struct FoundDevice {
    c10::Device device;
    int count;
};

/// Reads a name such as "cpu" or "cuda:1"; asks no driver. Throws ConfigError unless it names the
/// CPU or a type of accelerator: PyTorch has types that hold no memory or run nothing ("meta").
c10::Device parse_device(const std::string& text);

/// Number of devices of a type that can be used; 0 if PyTorch was built or runs without it.
int count_devices(c10::DeviceType type);

/// Both. Throws ConfigError also for an index beyond the devices that are there; where there are
/// none at all, the caller decides.
FoundDevice find_device(const std::string& text);

}  // namespace iterscope
