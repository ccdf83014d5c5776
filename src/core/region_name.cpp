#include "region_name.hpp"

#include <array>

namespace iterscope {

namespace {

// The union over modes, so that a grid over modes accepts the same names in each.
constexpr std::array<std::string_view, 5> k_own_columns = {"iter", "total_time_sec", "max_gpu_mb",
                                                           "comm_cuda_sec", "comm_sync_sec"};
constexpr std::array<std::string_view, 5> k_region_suffixes = {
    "_time_sec", "_max_gpu_mb", "_cpu_sec", "_cuda_sec", "_comm_sec"};

}  // namespace

std::string region_name_problem(std::string_view name)
{
    if (name.empty()) {
        return "the region has an empty name (its columns could not be told from the iteration's "
               "own); give it a name";
    }
    for (const std::string_view suffix : k_region_suffixes) {
        const std::string column = std::string(name).append(suffix);
        for (const std::string_view own : k_own_columns) {
            if (column == own) {
                return "the region name '" + std::string(name) + "' is reserved (its column '" +
                       column + "' already means something else); choose another name";
            }
        }
    }
    return {};
}

}  // namespace iterscope
