#pragma once

#include <iterscope/sink.hpp>

namespace iterscope {

/// `<stem>_run.json`: what runs, where, with which parameters, and later how it ended. Its
/// creation reserves the run's name.
class RunInfo final : public Sink {
public:
    void begin(RunContext& context) override;
    void cancel() noexcept override;
    void write(const IterationRecord& /*record*/, const ColumnTable& /*columns*/) override {}
    void finish(const RunSummary& summary) override;
    std::pair<std::string, std::filesystem::path> file() const override;

private:
    RunContext context_;
    std::filesystem::path path_;
};

}  // namespace iterscope
