#pragma once

#include <chrono>
#include <cstdint>

namespace iterscope {

// From what is counted to the units of metrics and files.

constexpr double seconds(std::int64_t nanoseconds)
{
    return static_cast<double>(nanoseconds) / 1e9;
}

constexpr double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

/// Nanoseconds since 1970 by the wall clock: to say when, never how long.
inline std::int64_t unix_now_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace iterscope
