#include "devices/find_device.hpp"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <iterscope/error.hpp>

namespace iterscope {

namespace {

ConfigError unknown_device(const std::string& text, const std::string& reason)
{
    return ConfigError("unknown device '" + text + "' (" + reason +
                       "); use a name such as cpu, cuda or cuda:1");
}

}  // namespace

c10::Device parse_device(const std::string& text)
{
    try {
        const c10::Device device(text);
        if (device.is_cpu() || at::accelerator::isAccelerator(device.type())) {
            return device;
        }
    } catch (const c10::Error& error) {
        throw unknown_device(text, error.what_without_backtrace());
    }
    throw unknown_device(text,
                         "PyTorch has the type, but it is neither the CPU nor an accelerator");
}

int count_devices(c10::DeviceType type)
{
    try {
        // Asked first: where CUDA is absent torch.compile puts a guard in its place that has
        // devices.
        if (!at::globalContext().getAcceleratorHooksInterface(type).isAvailable()) {
            return 0;
        }
    } catch (const c10::Error&) {  // a type without hooks: its guard alone knows
    }
    return c10::impl::hasDeviceGuardImpl(type) ? c10::impl::VirtualGuardImpl(type).deviceCount()
                                               : 0;
}

FoundDevice find_device(const std::string& text)
{
    const c10::Device device = parse_device(text);
    const int count = device.is_cpu() ? 1 : count_devices(device.type());
    if (device.has_index() && count > 0 && device.index() >= count) {
        throw ConfigError("there is no device '" + text + "' (this process sees " +
                          std::to_string(count) + " of its type, counted from 0); choose another");
    }
    return {device, count};
}

}  // namespace iterscope
