#pragma once

#include <cstdint>
#include <limits>

namespace iterscope {

/// The iterations that are recorded: `warmup <= i`, and `i < warmup + active` unless `active` is 0.
/// With `repeat` other than 1 that many such cycles follow each other, for ever if it is 0; a cycle
/// without end (`active` 0) has none after it.
class RecordingWindow {
public:
    constexpr RecordingWindow(std::int64_t warmup, std::int64_t active,
                              std::int64_t repeat = 1) noexcept
        : first_(warmup),
          cycle_(active == 0 ? k_never : sum(warmup, active)),
          end_(repeat == 0 || cycle_ == k_never ? k_never : product(cycle_, repeat))
    {
    }

    constexpr bool contains(std::int64_t iteration) const noexcept
    {
        return iteration % cycle_ >= first_ && iteration < end_;
    }

    /// No iteration from `iteration` on is recorded.
    constexpr bool is_over(std::int64_t iteration) const noexcept { return iteration >= end_; }

    /// `iteration` is the last one of a cycle.
    constexpr bool ends_cycle(std::int64_t iteration) const noexcept
    {
        return contains(iteration) && (iteration + 1) % cycle_ == 0;
    }

    constexpr std::int64_t first() const noexcept { return first_; }

private:
    static constexpr std::int64_t k_never = std::numeric_limits<std::int64_t>::max();

    static constexpr std::int64_t sum(std::int64_t a, std::int64_t b) noexcept
    {
        return a > k_never - b ? k_never : a + b;
    }
    static constexpr std::int64_t product(std::int64_t a, std::int64_t b) noexcept
    {
        return a > k_never / b ? k_never : a * b;
    }

    std::int64_t first_;
    /// Length of a cycle.
    std::int64_t cycle_;
    std::int64_t end_;
};

}  // namespace iterscope
