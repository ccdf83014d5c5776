#include "communication_csv.hpp"

#include <iterscope/operator_table.hpp>

#include "csv_format.hpp"
#include "run_files.hpp"

namespace iterscope {

namespace {

constexpr std::string_view k_header = "iter,section,index,op,group,start_unix_ns,sec\n";

}  // namespace

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
        append_cell(rows_, collective.region == k_no_region
                               ? std::string_view()
                               : report.region_names[collective.region]);
        append_cell(rows_, index_++);
        append_cell(rows_, collective.name);
        append_cell(rows_, collective.group);
        append_cell(rows_, collective.start_unix_ns);
        append_cell(rows_, static_cast<double>(collective.duration_ns) / 1e9);
        rows_ += '\n';
    }
    if (!file_.is_open()) {
        file_ = AppendFile::create(path_);
        rows_.insert(0, k_header);
    }
    file_.append(rows_);
}

void CommunicationCsv::finish(const RunSummary& /*summary*/) { file_.close(); }

std::pair<std::string, std::filesystem::path> CommunicationCsv::file() const
{
    return {file_.path().empty() ? "" : "comm", path_};
}

}  // namespace iterscope
