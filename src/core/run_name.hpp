#pragma once

#include <string>
#include <string_view>

#include <iterscope/launch.hpp>

namespace iterscope {

/// `name` as the start of a file name: it cannot leave the folder, hide the file or grow too
/// long, and different names give different results. Bytes that are not safe become %XX; "run"
/// stands for an empty name.
std::string safe_file_name(std::string_view name);

/// `<safe name>[_<launch>][-<n>][_rank<r>]`; `attempt` counts from 1 and shows from 2 on.
std::string run_stem(std::string_view safe_name, const Launch& launch, int attempt);

}  // namespace iterscope
