#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include <iterscope/sink.hpp>

namespace iterscope {

/// Totals of every metric over the recorded iterations of a run, in memory that does not grow
/// with them. Hand one to a profiler through `Services::sinks`.
class Summary final : public Sink {
public:
    struct Entry {
        std::string metric;
        /// Recorded iterations that have the metric.
        std::int64_t count = 0;
        double total = 0;
        double minimum = 0;
        double maximum = 0;

        double mean() const { return count == 0 ? 0 : total / static_cast<double>(count); }
    };

    void begin(RunContext& context) override;
    void write(const IterationRecord& record, const ColumnTable& columns) override;
    void finish(const RunSummary& /*summary*/) override {}

    const std::vector<Entry>& entries() const noexcept { return entries_; }

    /// One line a metric: count, total, mean, minimum, maximum. Seconds and MiB as in the names.
    void print(std::ostream& out) const;

private:
    /// By ColumnId; a metric that no iteration had has count 0.
    std::vector<Entry> entries_;
};

}  // namespace iterscope
