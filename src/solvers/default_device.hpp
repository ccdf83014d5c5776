#pragma once

#include <optional>
#include <string>

#include <c10/core/Device.h>

namespace iterscope {

/// The device that a solver runs on: `asked`, or CUDA device number <local rank> where there is
/// CUDA (0 if this process sees one device only), or else `fallback`. Throws ConfigError on a
/// device that PyTorch does not know or that this machine does not have.
c10::Device solver_device(const std::optional<std::string>& asked, c10::Device fallback);

}  // namespace iterscope
