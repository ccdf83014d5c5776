#include "solvers/default_device.hpp"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <iterscope/error.hpp>
#include <iterscope/launch.hpp>

namespace iterscope {

namespace {

int device_count(c10::DeviceType type)
{
    // torch.compile and torch.export put a stand-in guard for CUDA, with one device, on machines
    // that have none: only the hooks know.
    if (type == c10::DeviceType::CUDA) {
        return static_cast<int>(at::detail::getCUDAHooks().deviceCount());
    }
    return c10::impl::hasDeviceGuardImpl(type) ? c10::impl::VirtualGuardImpl(type).deviceCount()
                                               : 0;
}

c10::Device parse(const std::string& text)
{
    try {
        return c10::Device(text);
    } catch (const c10::Error& error) {
        throw ConfigError("unknown device '" + text + "' (" + error.what_without_backtrace() +
                          "); use a name like 'cpu' or 'cuda:0'.");
    }
}

}  // namespace

c10::Device solver_device(const std::optional<std::string>& asked, c10::Device fallback)
{
    if (asked) {
        const c10::Device device = parse(*asked);
        const int count = device.is_cpu() ? 1 : device_count(device.type());
        if (count == 0 || (device.has_index() && !device.is_cpu() && device.index() >= count)) {
            throw ConfigError("there is no device '" + *asked + "' (this process sees " +
                              std::to_string(count) +
                              " of its kind); use one that is there, or None.");
        }
        return device;
    }
    const int cuda_devices = device_count(c10::DeviceType::CUDA);
    if (cuda_devices == 0) {
        return fallback;
    }
    const int local_rank = discover_launch(process_environment()).local_rank;
    if (cuda_devices > 1 && local_rank >= cuda_devices) {
        throw ConfigError("rank " + std::to_string(local_rank) +
                          " of this host has no GPU (it sees " + std::to_string(cuda_devices) +
                          "); lower slurm_ntasks_per_node or raise slurm_gres.");
    }
    const int index = cuda_devices == 1 ? 0 : local_rank;
    return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace iterscope
