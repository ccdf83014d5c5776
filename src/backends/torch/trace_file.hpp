#pragma once

#include <optional>
#include <string>
#include <vector>

#include <iterscope/sink.hpp>

#include "chrome_trace.hpp"

namespace iterscope {

/// The Chrome trace among the files of a run: there from the start, replaced at the end of each
/// cycle.
class TraceFile final : public Sink {
public:
    void begin(RunContext& context) override;
    void cancel() noexcept override;
    void write(const IterationRecord& /*record*/, const ColumnTable& /*columns*/) override {}
    void finish(const RunSummary& /*summary*/) override {}
    std::pair<std::string, std::filesystem::path> file() const override;

    /// Says once why there is no new trace, if there is none.
    void write(::torch::autograd::profiler::ProfilerResult& result,
               const std::vector<std::string>& region_names);

private:
    std::optional<ChromeTrace> trace_;
    std::function<void(const std::string& line)> warn_;
};

}  // namespace iterscope
