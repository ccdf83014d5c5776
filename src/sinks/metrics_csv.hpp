#pragma once

#include <functional>
#include <string>
#include <vector>

#include <iterscope/sink.hpp>

#include "file_io.hpp"

namespace iterscope {

/// `<stem>_gpu_metrics.csv`: `iter` and one column a metric, one row a recorded iteration, each
/// on disk when `write` returns. A metric that first appears later adds a column: the file is
/// replaced as a whole, its old rows with empty cells.
class MetricsCsv final : public Sink {
public:
    void begin(RunContext& context) override;
    void cancel() noexcept override;
    void write(const IterationRecord& record, const ColumnTable& columns) override;
    void finish(const RunSummary& summary) override;
    std::pair<std::string, std::filesystem::path> file() const override;

private:
    /// Adds the columns, or says once why there will be no more.
    void widen(const std::vector<ColumnId>& added, const ColumnTable& columns);
    void add_columns(const std::vector<ColumnId>& added, const ColumnTable& columns);

    std::filesystem::path path_;
    AppendFile file_;
    /// The header line of the file, with its line end.
    std::string header_;
    /// Columns of the file, after `iter`.
    std::vector<ColumnId> order_;
    /// For each ColumnId its place in `order_`, or k_absent.
    std::vector<int> places_;
    /// No further column is added.
    bool is_frozen_ = false;
    std::function<void(const std::string& line)> warn_;
    std::vector<const Metric*> cells_;
    std::string row_;
};

}  // namespace iterscope
