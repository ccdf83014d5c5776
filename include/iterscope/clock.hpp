#pragma once

#include <chrono>
#include <cstdint>

namespace iterscope {

/// Source of time for every duration that iterscope reports.
class Clock {
public:
    virtual ~Clock() = default;

    /// Nanoseconds since an arbitrary fixed point; never runs backwards.
    virtual std::int64_t now_ns() noexcept = 0;
};

/// The monotonic clock of the system: corrections of the wall clock do not move it.
class SteadyClock final : public Clock {
public:
    static_assert(std::chrono::steady_clock::is_steady);

    std::int64_t now_ns() noexcept override
    {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }
};

}  // namespace iterscope
