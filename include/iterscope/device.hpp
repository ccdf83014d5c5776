#pragma once

#include <cstdint>
#include <string>

namespace iterscope {

/// What the profiler needs of the device that a solver runs on.
class Device {
public:
    virtual ~Device() = default;

    /// "cpu", "cuda:1", ...
    virtual std::string name() const = 0;

    /// False on a device whose work is finished when a call returns and that keeps no memory
    /// statistics (the CPU): the profiler then calls none of the functions below.
    virtual bool is_accelerator() const noexcept = 0;

    /// Waits for all work queued on the device. Throws DeviceError.
    virtual void synchronize() = 0;

    /// Highest number of allocated bytes since the last `reset_peak_bytes()`; 0 if unknown.
    virtual std::int64_t peak_bytes() = 0;

    /// Lowers the peak to the bytes that are allocated now.
    virtual void reset_peak_bytes() = 0;
};

/// The host: nothing to wait for, no memory statistics.
class CpuDevice final : public Device {
public:
    std::string name() const override { return "cpu"; }
    bool is_accelerator() const noexcept override { return false; }
    void synchronize() override {}
    std::int64_t peak_bytes() override { return 0; }
    void reset_peak_bytes() override {}
};

}  // namespace iterscope
