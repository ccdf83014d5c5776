#include "accelerator_device.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <string>

#include <iterscope/error.hpp>

namespace iterscope {

namespace {

c10::DeviceAllocator* statistics_of(c10::DeviceType type)
{
    return dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(type));
}

/// Runs `call` and turns PyTorch's errors into ours.
template <class Call>
auto checked(const c10::Device& device, const char* action, Call call)
{
    try {
        return call();
    } catch (const c10::Error& error) {
        throw DeviceError(std::string(action) + " " + device.str() + " failed (" +
                          error.what_without_backtrace() +
                          "); look for the kernel that failed before");
    }
}

}  // namespace

AcceleratorDevice::AcceleratorDevice(c10::Device device) : device_(device) {}

c10::DeviceAllocator* AcceleratorDevice::allocator() const
{
    c10::DeviceAllocator* allocator = statistics_of(device_.type());
    return allocator != nullptr && allocator->initialized() ? allocator : nullptr;
}

bool AcceleratorDevice::is_idle() const
{
    return statistics_of(device_.type()) != nullptr && allocator() == nullptr;
}

c10::DeviceIndex AcceleratorDevice::index()
{
    if (!device_.has_index()) {
        device_.set_index(c10::impl::VirtualGuardImpl(device_.type()).getDevice().index());
    }
    return device_.index();
}

void AcceleratorDevice::synchronize()
{
    if (is_idle()) {
        return;
    }
    checked(device_, "synchronising",
            [&] { c10::impl::VirtualGuardImpl(device_.type()).synchronizeDevice(index()); });
}

std::int64_t AcceleratorDevice::peak_bytes()
{
    c10::DeviceAllocator* statistics = allocator();
    if (statistics == nullptr) {
        return 0;
    }
    return checked(device_, "reading the peak memory of", [&] {
        constexpr auto k_aggregate =
            static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
        return statistics->getDeviceStats(index()).allocated_bytes[k_aggregate].peak;
    });
}

void AcceleratorDevice::reset_peak_bytes()
{
    c10::DeviceAllocator* statistics = allocator();
    if (statistics != nullptr) {
        checked(device_, "resetting the peak memory of",
                [&] { statistics->resetPeakStats(index()); });
    }
}

}  // namespace iterscope
