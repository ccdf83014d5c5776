#include "communication.hpp"

#include <array>

#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>

namespace iterscope {

namespace {

constexpr std::array<std::string_view, 4> k_backends = {"gloo:", "nccl:", "mpi:", "ucc:"};

}  // namespace

std::optional<std::string> collective_name(std::string_view title)
{
    for (const std::string_view backend : k_backends) {
        if (title.starts_with(backend)) {
            return std::string(title.substr(backend.size()));
        }
    }
    return std::nullopt;
}

std::string communication_group()
{
    const auto* info = dynamic_cast<const ::torch::ParamCommsDebugInfo*>(
        c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PARAM_COMMS_INFO));
    return info == nullptr ? std::string() : info->getProcessGroupName();
}

}  // namespace iterscope
