#include "operators_csv.hpp"

#include <unistd.h>

#include <iterscope/operator_table.hpp>

#include "../core/units.hpp"
#include "csv_format.hpp"
#include "run_files.hpp"

namespace iterscope {

namespace {

constexpr std::string_view k_operators_header =
    "iter,section,op,cpu_sec,cuda_sec,self_cuda_sec,mem_mb,self_mem_mb,count\n";

/// Everything behind the first cell, and the line end.
void append_row(std::string& out, const OperatorReport& report, const OperatorRow& row)
{
    append_cell(out, report.region_names[row.region]);
    append_cell(out, row.name);
    append_cell(out, seconds(row.stats.cpu_ns));
    if (report.has_device_times) {
        append_cell(out, seconds(row.stats.device_ns));
        append_cell(out, seconds(row.stats.self_device_ns));
    } else {
        out += ",,";
    }
    append_cell(out, mebibytes(row.stats.memory_bytes));
    append_cell(out, mebibytes(row.stats.self_memory_bytes));
    append_cell(out, row.stats.count);
    out += '\n';
}

}  // namespace

void OperatorsCsv::begin(RunContext& context)
{
    path_ = context.folder / (context.stem + k_metrics_suffix);
    file_ = AppendFile::create(path_);
    try {
        file_.append(k_operators_header);
    } catch (...) {
        cancel();
        throw;
    }
}

void OperatorsCsv::cancel() noexcept
{
    if (file_.is_open()) {
        file_.close();
        ::unlink(path_.c_str());
    }
}

void OperatorsCsv::write(const IterationRecord& record, const ColumnTable& /*columns*/)
{
    rows_.clear();
    for (const OperatorRow& row : record.operators->table.direct) {
        append_number(rows_, record.iteration);
        append_row(rows_, *record.operators, row);
    }
    file_.append(rows_);
}

void OperatorsCsv::finish(const RunSummary& /*summary*/) { file_.close(); }

std::pair<std::string, std::filesystem::path> OperatorsCsv::file() const
{
    return {path_.empty() ? "" : "gpu_metrics", path_};
}

void AggregatedCsv::begin(RunContext& context)
{
    path_ = context.folder / (context.stem + k_metrics_suffix);
    window_ = window_of(context.options);
    report_ = nullptr;
    AppendFile file = AppendFile::create(path_);
    try {
        file.append(k_operators_header);
    } catch (...) {
        cancel();
        throw;
    }
}

void AggregatedCsv::cancel() noexcept { ::unlink(path_.c_str()); }

void AggregatedCsv::write(const IterationRecord& record, const ColumnTable& /*columns*/)
{
    report_ = record.operators;
    if (window_.ends_cycle(record.iteration)) {
        replace();
    }
}

void AggregatedCsv::finish(const RunSummary& /*summary*/)
{
    if (report_ != nullptr) {
        replace();
    }
}

void AggregatedCsv::replace() const
{
    std::string text(k_operators_header);
    for (const OperatorRow& row : report_->table.direct) {
        text += "agg";
        append_row(text, *report_, row);
    }
    Replacement file(path_);
    file.append(text);
    file.commit();
}

std::pair<std::string, std::filesystem::path> AggregatedCsv::file() const
{
    return {path_.empty() ? "" : "gpu_metrics", path_};
}

}  // namespace iterscope
