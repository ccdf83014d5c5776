#pragma once

#include <string>

#include <iterscope/sink.hpp>

#include "file_io.hpp"

namespace iterscope {

/// `<stem>_gpu_metrics.csv` of the torch mode: one row for each operator that a region called in
/// an iteration. The rows of an iteration are written together.
class OperatorsCsv final : public Sink {
public:
    void begin(RunContext& context) override;
    void cancel() noexcept override;
    void write(const IterationRecord& record, const ColumnTable& columns) override;
    void finish(const RunSummary& summary) override;
    std::pair<std::string, std::filesystem::path> file() const override;

private:
    std::filesystem::path path_;
    AppendFile file_;
    std::string rows_;
};

/// The same without `per_step`: one row for each operator over all recorded iterations, with `agg`
/// for the iteration. The file is replaced as a whole when a cycle ends and when the run does.
class AggregatedCsv final : public Sink {
public:
    AggregatedCsv() : window_(0, 0) {}

    void begin(RunContext& context) override;
    void cancel() noexcept override;
    void write(const IterationRecord& record, const ColumnTable& columns) override;
    void finish(const RunSummary& summary) override;
    std::pair<std::string, std::filesystem::path> file() const override;

private:
    void replace() const;

    std::filesystem::path path_;
    RecordingWindow window_;
    /// Of the last record; the backend keeps it.
    const OperatorReport* report_ = nullptr;
};

}  // namespace iterscope
