#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace iterscope {

/// Position of a metric's name in a ColumnTable.
using ColumnId = std::uint32_t;

/// Names of the metrics of one profiler, each kept once, in order of their first appearance.
class ColumnTable {
public:
    /// The id of `name`, added when it is new.
    ColumnId add(const std::string& name)
    {
        const auto [entry, is_new] = ids_.try_emplace(name, static_cast<ColumnId>(names_.size()));
        if (is_new) {
            names_.push_back(name);
        }
        return entry->second;
    }

    const std::string& name(ColumnId id) const { return names_[id]; }
    std::size_t size() const noexcept { return names_.size(); }

private:
    std::deque<std::string> names_;
    std::unordered_map<std::string, ColumnId> ids_;
};

struct Metric {
    ColumnId column;
    /// Seconds (`_sec`) or MiB (`_mb`).
    double value;
};

struct OperatorReport;

/// What one recorded iteration measured. Reused from iteration to iteration.
struct IterationRecord {
    /// 0-based, warm-up included.
    std::int64_t iteration = 0;
    std::vector<Metric> metrics;
    /// Operators of the iteration (torch mode); owned by the backend, valid until the next record.
    const OperatorReport* operators = nullptr;
};

}  // namespace iterscope
