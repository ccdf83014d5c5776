#pragma once

#include <string>
#include <string_view>

namespace iterscope {

/// Why `name` cannot name a region (with what to do), or an empty string when it can: it must not
/// be empty, nor make a column that any mode has of its own.
std::string region_name_problem(std::string_view name);

}  // namespace iterscope
