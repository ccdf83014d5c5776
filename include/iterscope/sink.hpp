#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <iterscope/iteration_record.hpp>
#include <iterscope/launch.hpp>
#include <iterscope/options.hpp>

namespace iterscope {

/// What is known when a run starts.
struct RunContext {
    Options options;
    Launch launch;
    std::string device;
    std::string host;
    /// Absolute folder and stem of the run's files; empty when none are written.
    std::filesystem::path folder;
    std::string stem;
    std::int64_t start_unix_ns = 0;
    std::vector<std::pair<std::string, std::string>> versions;
    /// Says one line about something that works, but not as asked; each text once a run.
    std::function<void(const std::string& line)> warn;
};

/// What is known when it ended.
struct RunSummary {
    bool failed = false;
    std::string error;
    /// Iterations that were ended, recorded or not.
    std::int64_t iterations = 0;
    std::int64_t recorded_iterations = 0;
    std::int64_t rows_lost = 0;
    /// Seconds inside `end_iteration()`, outside every measured interval.
    double profiler_time_sec = 0;
    /// Regions recorded, and the measured own cost of one (seconds; 0 when not measured).
    std::int64_t region_count = 0;
    double region_cost_sec = 0;
    /// torch mode: work that ended after its iteration was written, and iterations whose collection
    /// was cut short.
    std::int64_t late_events = 0;
    std::int64_t partial_iterations = 0;
    /// torch mode: device times were wanted and none came.
    bool lacks_device_times = false;
    /// Ranks that a context handed to the profiler named and that differ from `launch.rank`.
    std::vector<std::int64_t> other_ranks;
    /// For each recorded region the regions that it was entered in; "" stands for none. Only the
    /// outermost entries of a recursion count.
    std::vector<std::pair<std::string, std::vector<std::string>>> region_parents;
};

/// Receives the rows of a run. `begin` may throw IoError: the sinks that had begun are cancelled
/// and nothing has started. A failure of `write` or `finish` is reported once and never ends the
/// run.
class Sink {
public:
    virtual ~Sink() = default;
    /// The first file sink reserves the run's name and fills in `folder` and `stem`.
    virtual void begin(RunContext& context) = 0;
    virtual void cancel() noexcept {}
    virtual void write(const IterationRecord& record, const ColumnTable& columns) = 0;
    /// May come again, with more in the summary, after the run has ended.
    virtual void finish(const RunSummary& summary) = 0;
    /// Kind and path of the file that this sink writes; empty strings when it writes none.
    virtual std::pair<std::string, std::filesystem::path> file() const { return {}; }
};

}  // namespace iterscope
