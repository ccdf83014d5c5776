#include "solvers/default_device.hpp"

#include <iterscope/error.hpp>

#include "devices/find_device.hpp"

namespace iterscope {

c10::Device solver_device(const std::optional<std::string>& asked, c10::Device fallback,
                          std::optional<ProcessGroup> group)
{
    if (asked) {
        const FoundDevice found = find_device(*asked);
        if (found.count == 0) {
            throw ConfigError("there is no device '" + *asked +
                              "' (PyTorch finds none of its type on this machine); use one that is "
                              "there, or None");
        }
        return found.device;
    }
    const int gpus = count_devices(c10::DeviceType::CUDA);
    if (gpus == 0) {
        return fallback;
    }
    const int index = own_gpu(gpus, discover_launch(process_environment(), group));
    return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

int own_gpu(int count, const Launch& launch)
{
    if (count == 1) {  // the launcher shows each process its own
        return 0;
    }
    if (launch.local_rank >= count) {
        throw ConfigError("local rank " + std::to_string(launch.local_rank) +
                          " has no GPU of its own (this process sees " + std::to_string(count) +
                          "); lower slurm_ntasks_per_node, raise slurm_gres, or set LOCAL_RANK if "
                          "the launcher did not");
    }
    return launch.local_rank;
}

}  // namespace iterscope
