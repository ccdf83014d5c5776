#pragma once

#include <string>

#include <iterscope/sink.hpp>

#include "file_io.hpp"

namespace iterscope {

/// `<stem>_comm.csv`: one row a collective, in the order of issue. Made at the first one.
class CommunicationCsv final : public Sink {
public:
    void begin(RunContext& context) override;
    void write(const IterationRecord& record, const ColumnTable& columns) override;
    void finish(const RunSummary& summary) override;
    std::pair<std::string, std::filesystem::path> file() const override;

private:
    std::filesystem::path path_;
    AppendFile file_;
    std::string rows_;
    std::int64_t index_ = 0;
};

}  // namespace iterscope
