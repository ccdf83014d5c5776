#pragma once

#include <optional>
#include <string>

#include <c10/core/Device.h>

#include <iterscope/launch.hpp>

namespace iterscope {

/// The device that a solver runs on: `asked`, or CUDA device number <local rank> where there is
/// CUDA (0 if this process sees one device only), or else `fallback`. The local rank is the
/// launcher's; `group` is the initialised process group, if there is one. Throws ConfigError on a
/// device that PyTorch does not know or that this machine does not have.
c10::Device solver_device(const std::optional<std::string>& asked, c10::Device fallback,
                          std::optional<ProcessGroup> group = {});

/// Index of this process's GPU among the `count` that it sees, at least one. Throws ConfigError
/// when its local rank has none.
int own_gpu(int count, const Launch& launch);

}  // namespace iterscope
