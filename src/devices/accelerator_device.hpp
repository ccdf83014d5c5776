#pragma once

#include <c10/core/Device.h>

#include <iterscope/device.hpp>

namespace c10 {
class DeviceAllocator;
}

namespace iterscope {

/// A device through PyTorch's device-agnostic interfaces: the guard of its type synchronises, its
/// allocator counts bytes. An allocator that is not initialised has nothing to measure yet, and
/// asking would initialise it, so nothing is asked.
class AcceleratorDevice final : public Device {
public:
    /// `device` may lack an index: the current one is taken when the device is first used.
    explicit AcceleratorDevice(c10::Device device);

    std::string name() const override { return device_.str(); }
    bool is_accelerator() const noexcept override { return true; }
    void synchronize() override;
    std::int64_t peak_bytes() override;
    void reset_peak_bytes() override;

private:
    /// Null if the type has no allocator with statistics or it is not initialised.
    c10::DeviceAllocator* allocator() const;
    bool is_idle() const;
    c10::DeviceIndex index();

    c10::Device device_;
};

}  // namespace iterscope
