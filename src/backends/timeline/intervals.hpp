#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace iterscope {

struct Interval {
    std::int64_t start_ns;
    std::int64_t end_ns;
};

/// Length of the union: time in which at least one of the intervals runs. Sorts `intervals`.
inline std::int64_t covered_ns(std::vector<Interval>& intervals)
{
    std::ranges::sort(intervals, {}, &Interval::start_ns);
    std::int64_t covered = 0;
    std::int64_t reached = std::numeric_limits<std::int64_t>::min();
    for (const Interval& interval : intervals) {
        const std::int64_t start = std::max(interval.start_ns, reached);
        covered += std::max<std::int64_t>(0, interval.end_ns - start);
        reached = std::max(reached, interval.end_ns);
    }
    return covered;
}

}  // namespace iterscope
