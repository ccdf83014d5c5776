#include "operators_csv.hpp"

#include <unistd.h>

#include <iterscope/operator_table.hpp>

#include "csv_format.hpp"
#include "run_files.hpp"

namespace iterscope {

namespace {

constexpr std::string_view k_operators_header =
    "iter,section,op,cpu_sec,cuda_sec,self_cuda_sec,mem_mb,self_mem_mb,count\n";
constexpr std::string_view k_communication_header =
    "iter,section,index,op,group,start_unix_ns,sec\n";

constexpr double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }
constexpr double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

template <class Value>
void append_cell(std::string& row, Value value)
{
    row += ',';
    append_number(row, value);
}

void append_text_cell(std::string& row, std::string_view text)
{
    row += ',';
    append_field(row, text);
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
        append_text_cell(rows_, record.operators->region_names[row.region]);
        append_text_cell(rows_, row.name);
        append_cell(rows_, seconds(row.stats.cpu_ns));
        append_cell(rows_, seconds(row.stats.device_ns));
        append_cell(rows_, seconds(row.stats.self_device_ns));
        append_cell(rows_, mebibytes(row.stats.memory_bytes));
        append_cell(rows_, mebibytes(row.stats.self_memory_bytes));
        append_cell(rows_, row.stats.count);
        rows_ += '\n';
    }
    file_.append(rows_);
}

void OperatorsCsv::finish(const RunSummary& /*summary*/) { file_.close(); }

std::pair<std::string, std::filesystem::path> OperatorsCsv::file() const
{
    return {path_.empty() ? "" : "gpu_metrics", path_};
}

void CommunicationCsv::begin(RunContext& context)
{
    path_ = context.folder / (context.stem + k_communication_suffix);
    file_.close();
    index_ = 0;
}

void CommunicationCsv::write(const IterationRecord& record, const ColumnTable& /*columns*/)
{
    const OperatorReport& report = *record.operators;
    if (report.table.collectives.empty()) {
        return;
    }
    rows_.clear();
    for (const Collective& collective : report.table.collectives) {
        append_number(rows_, record.iteration);
        append_text_cell(rows_, collective.region == k_no_region
                                    ? std::string_view()
                                    : report.region_names[collective.region]);
        append_cell(rows_, index_++);
        append_text_cell(rows_, collective.name);
        append_text_cell(rows_, collective.group);
        append_cell(rows_, collective.start_unix_ns);
        append_cell(rows_, seconds(collective.duration_ns));
        rows_ += '\n';
    }
    if (!file_.is_open()) {
        file_ = AppendFile::create(path_);
        rows_.insert(0, k_communication_header);
    }
    file_.append(rows_);
}

void CommunicationCsv::finish(const RunSummary& /*summary*/) { file_.close(); }

std::pair<std::string, std::filesystem::path> CommunicationCsv::file() const
{
    return {file_.path().empty() ? "" : "comm", path_};
}

}  // namespace iterscope
