#include "metrics_csv.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "csv_format.hpp"
#include "run_files.hpp"

namespace iterscope {

namespace {

constexpr int k_absent = -1;

// The columns that every row has: a file without rows still says what it is.
constexpr std::string_view k_first_header = "iter,total_time_sec,max_gpu_mb";
constexpr std::size_t k_first_columns = 2;

constexpr std::size_t k_most_columns = 2000;

/// Copies `source` with `header` for its first record and `tail` before each later line end.
/// Only the header can hold quoted line ends; rows are numbers.
void copy_rows(const std::filesystem::path& source, const std::string& header,
               const std::string& tail, std::size_t old_header_size, Replacement& target)
{
    std::ifstream in(source, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(old_header_size));
    std::string out = header;
    std::array<char, 1 << 16> block{};
    while (in) {
        in.read(block.data(), block.size());
        for (const char c : std::string_view(block.data(), static_cast<std::size_t>(in.gcount()))) {
            if (c == '\n') {
                out += tail;
            }
            out += c;
        }
        target.append(out);
        out.clear();
    }
    if (!in.eof()) {
        throw io_error("reading", source, errno);
    }
}

}  // namespace

void MetricsCsv::begin(RunContext& context)
{
    path_ = context.folder / (context.stem + k_metrics_suffix);
    file_ = AppendFile::create(path_);
    header_ = std::string(k_first_header) + "\n";
    order_.clear();
    places_.clear();
    for (ColumnId column = 0; column < k_first_columns; ++column) {
        order_.push_back(column);
        places_.push_back(static_cast<int>(column));
    }
    is_frozen_ = false;
    warn_ = context.warn;
    try {
        file_.append(header_);
    } catch (...) {
        cancel();
        throw;
    }
}

void MetricsCsv::cancel() noexcept
{
    if (file_.is_open()) {
        file_.close();
        ::unlink(path_.c_str());
    }
}

void MetricsCsv::write(const IterationRecord& record, const ColumnTable& columns)
{
    places_.resize(columns.size(), k_absent);
    std::vector<ColumnId> added;
    for (const Metric& metric : record.metrics) {
        if (places_[metric.column] == k_absent) {
            added.push_back(metric.column);
        }
    }
    if (!added.empty() && !is_frozen_) {
        widen(added, columns);
    }

    cells_.assign(order_.size(), nullptr);
    for (const Metric& metric : record.metrics) {
        if (places_[metric.column] != k_absent) {
            cells_[static_cast<std::size_t>(places_[metric.column])] = &metric;
        }
    }
    row_.clear();
    append_number(row_, record.iteration);
    for (const Metric* cell : cells_) {
        row_ += ',';
        if (cell != nullptr) {
            append_number(row_, cell->value);
        }
    }
    row_ += '\n';
    file_.append(row_);
}

void MetricsCsv::widen(const std::vector<ColumnId>& added, const ColumnTable& columns)
{
    std::string problem;
    if (order_.size() + added.size() > k_most_columns) {
        problem = "the run has more than " + std::to_string(k_most_columns) +
                  " metrics (each new region rewrites the file); take counters out of region names";
    } else {
        try {
            add_columns(added, columns);
            return;
        } catch (const IoError& error) {
            problem = error.what();
        }
    }
    is_frozen_ = true;
    warn_(problem + ". Rows go on without the columns of new regions");
}

void MetricsCsv::add_columns(const std::vector<ColumnId>& added, const ColumnTable& columns)
{
    std::string header = header_.substr(0, header_.size() - 1);
    for (const ColumnId column : added) {
        header += ',';
        append_field(header, columns.name(column));
    }
    header += '\n';
    Replacement replacement(path_);
    copy_rows(path_, header, std::string(added.size(), ','), header_.size(), replacement);
    file_ = replacement.commit();
    header_ = std::move(header);
    for (const ColumnId column : added) {
        places_[column] = static_cast<int>(order_.size());
        order_.push_back(column);
    }
}

void MetricsCsv::finish(const RunSummary& /*summary*/) { file_.close(); }

std::pair<std::string, std::filesystem::path> MetricsCsv::file() const
{
    return {path_.empty() ? "" : "gpu_metrics", path_};
}

}  // namespace iterscope
