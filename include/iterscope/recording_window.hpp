#pragma once

#include <cstdint>
#include <limits>

namespace iterscope {

/// The iterations that are recorded: `warmup <= i`, and `i < warmup + active` unless `active` is 0.
class RecordingWindow {
public:
    constexpr RecordingWindow(std::int64_t warmup, std::int64_t active) noexcept
        : first_(warmup), end_(end_of(warmup, active))
    {
    }

    constexpr bool contains(std::int64_t iteration) const noexcept
    {
        return first_ <= iteration && iteration < end_;
    }

    /// No iteration from `iteration` on is recorded.
    constexpr bool is_over(std::int64_t iteration) const noexcept { return iteration >= end_; }

    constexpr std::int64_t first() const noexcept { return first_; }

private:
    static constexpr std::int64_t k_never = std::numeric_limits<std::int64_t>::max();

    static constexpr std::int64_t end_of(std::int64_t warmup, std::int64_t active) noexcept
    {
        return active == 0 || warmup > k_never - active ? k_never : warmup + active;
    }

    std::int64_t first_;
    std::int64_t end_;
};

}  // namespace iterscope
