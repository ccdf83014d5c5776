#include <iterscope/summary.hpp>

#include <algorithm>
#include <iomanip>
#include <ostream>

namespace iterscope {

void Summary::begin(RunContext& /*context*/) { entries_.clear(); }

void Summary::write(const IterationRecord& record, const ColumnTable& columns)
{
    for (auto column = static_cast<ColumnId>(entries_.size()); column < columns.size(); ++column) {
        entries_.push_back({.metric = columns.name(column)});
    }
    for (const Metric& metric : record.metrics) {
        Entry& entry = entries_[metric.column];
        entry.minimum = entry.count == 0 ? metric.value : std::min(entry.minimum, metric.value);
        entry.maximum = entry.count == 0 ? metric.value : std::max(entry.maximum, metric.value);
        entry.total += metric.value;
        ++entry.count;
    }
}

void Summary::print(std::ostream& out) const
{
    std::size_t width = 6;
    for (const Entry& entry : entries_) {
        width = std::max(width, entry.metric.size());
    }
    const auto name_width = static_cast<int>(width);
    const std::ios_base::fmtflags flags = out.flags();
    const std::streamsize precision = out.precision(4);
    out << std::left << std::setw(name_width) << "metric" << std::right << std::setw(8) << "count";
    for (const char* title : {"total", "mean", "min", "max"}) {
        out << std::setw(12) << title;
    }
    out << '\n';
    for (const Entry& entry : entries_) {
        if (entry.count == 0) {
            continue;
        }
        out << std::left << std::setw(name_width) << entry.metric << std::right << std::setw(8)
            << entry.count;
        for (const double value : {entry.total, entry.mean(), entry.minimum, entry.maximum}) {
            out << std::setw(12) << value;
        }
        out << '\n';
    }
    out.flags(flags);
    out.precision(precision);
}

}  // namespace iterscope
