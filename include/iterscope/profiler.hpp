#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <iterscope/backend.hpp>
#include <iterscope/clock.hpp>
#include <iterscope/device.hpp>
#include <iterscope/iteration_record.hpp>
#include <iterscope/launch.hpp>
#include <iterscope/options.hpp>
#include <iterscope/recording_window.hpp>
#include <iterscope/region.hpp>
#include <iterscope/sink.hpp>

namespace iterscope {

/// What a profiler is given besides its options; every empty member stands for the real thing.
struct Services {
    std::shared_ptr<Clock> clock;
    std::shared_ptr<Device> device;
    /// Receive every record after the files of `save_file`.
    std::vector<std::shared_ptr<Sink>> sinks;
    /// One line about something that works, but not as asked. Default: standard error.
    std::function<void(const std::string& line)> warn;
    /// One line about something that was saved. Default: standard error.
    std::function<void(const std::string& line)> inform;
    /// Asked at every `start()`. Default: no process group.
    std::function<std::optional<ProcessGroup>()> process_group;
    Environment environment;
    /// Versions for run.json, e.g. {"torch", "2.14.1"}.
    std::vector<std::pair<std::string, std::string>> versions;
};

/// Records named regions of an iterative solver, iteration by iteration, inside a window.
///
/// A run goes from `start()` to `finalize()`; the next `start()` begins a new run. Calls outside
/// a run and regions outside the window do nothing. All calls come from the thread that called
/// `start()`; from another one, inside the window, they throw UsageError.
class Profiler {
public:
    /// `backend` is null in Mode::null. Most callers use `make_profiler`. Throws ConfigError.
    Profiler(Options options, std::unique_ptr<Backend> backend, Services services);
    ~Profiler();
    Profiler(const Profiler&) = delete;
    Profiler& operator=(const Profiler&) = delete;

    /// Begins a run. Throws UsageError while one is running, and IoError when `save_file` is set
    /// and `outputs/` cannot be written.
    void start();
    /// Restarts the clock of iteration 0, so that set-up is not charged to it. Regions recorded
    /// before are dropped. Throws UsageError after the first `end_iteration()` or with an open
    /// region.
    void start_iterations();

    /// A handle that skips the look-up of `track_step`. Throws ConfigError on an illegal name.
    Region region(std::string_view name);
    /// Opens the named region until the result goes out of scope. Throws ConfigError on an
    /// illegal name, from `start()` until the window is over.
    ScopedRegion track_step(std::string_view name);

    /// Closes the iteration and records it inside the window. `context_rank` is what the caller
    /// believes its rank to be. Throws UsageError with an open region.
    void end_iteration(std::optional<std::int64_t> context_rank = {});

    /// Names and values of the iteration that ended last; empty unless it was recorded.
    std::vector<std::pair<std::string, double>> current_metrics() const;
    /// The same without copies; null unless it was recorded.
    const IterationRecord* current_record() const noexcept
    {
        return has_record_ ? &record_ : nullptr;
    }
    const ColumnTable& columns() const noexcept { return columns_; }

    /// Ends the run; what was recorded stays on disk. Idempotent. Throws UsageError from another
    /// thread inside the window.
    void finalize(std::optional<std::int64_t> context_rank = {});
    /// The same for a run that failed, with the text of what went wrong.
    void fail(std::string_view error);
    /// Ends the run from wherever the profiler is given up; the destructor does it, too.
    void close() noexcept { finish(false, ""); }

    bool is_recording() const noexcept { return recording_.load(std::memory_order_relaxed); }
    /// Between start() and the end of the run.
    bool is_running() const noexcept
    {
        return phase_.load(std::memory_order_relaxed) != Phase::idle;
    }
    /// The window is over, and the run is not: nothing more will be recorded.
    bool is_over() const noexcept { return phase_.load(std::memory_order_relaxed) == Phase::over; }
    /// Counts the runs.
    std::uint32_t run_number() const noexcept { return run_number_; }
    /// Index of the iteration that runs now.
    std::int64_t iteration() const noexcept { return iteration_; }
    const Options& options() const noexcept { return options_; }
    /// Stem of the files of the present or last run; empty without files.
    const std::string& run_name() const noexcept { return context_.stem; }
    /// Kind and path of each file, e.g. {"gpu_metrics", ".../pnp_gpu_metrics.csv"}.
    std::vector<std::pair<std::string, std::filesystem::path>> files() const;

    /// Low-level twins of `region` and Region::enter, for bindings. The number of a name:
    RegionId intern(std::string_view name);
    const std::string& region_name(RegionId region) const { return *regions_[region].name; }
    /// Throws ConfigError if the name is illegal, `check_name` only from `start()` until the
    /// window is over; neither in Mode::null.
    void require_legal(RegionId region) const;
    void check_name(RegionId region);
    void enter(RegionId region);
    /// Throws UsageError unless `region` is the innermost open one.
    void leave(RegionId region);
    /// True while a frame of `region` is open.
    bool is_open(RegionId region) const noexcept { return regions_[region].depth > 0; }

private:
    friend class ScopedRegion;
    struct RegionEntry {
        const std::string* name;
        /// Why the name is illegal; empty if it is not.
        std::string problem;
        /// Open frames of this region.
        std::uint32_t depth = 0;
        /// What it was entered in, in this run: the last one, and each one once.
        RegionId last_parent = k_unknown_parent;
        std::vector<RegionId> parents = {};
    };
    enum class Phase { idle, warmup, recording, over };

    /// The iteration itself, at the bottom of the stack of frames.
    static constexpr RegionId k_no_region = static_cast<RegionId>(-1);
    static constexpr RegionId k_unknown_parent = static_cast<RegionId>(-2);

    bool checks_names() const noexcept
    {
        const Phase phase = phase_.load(std::memory_order_relaxed);
        return phase == Phase::warmup || phase == Phase::recording;
    }
    void set_phase(Phase phase) noexcept { phase_.store(phase, std::memory_order_relaxed); }

    std::thread::id owner() const noexcept { return owner_.load(std::memory_order_relaxed); }

    void leave_scope(RegionId region) noexcept;
    void leave_out_of_order(RegionId region);
    void pop() noexcept;
    void discard_abandoned() noexcept;
    void check_thread(const char* call) const;
    void check_nothing_open(const char* call);
    void begin_run();
    void begin_sinks();
    void enter_window_or_leave_it();
    void restart_clock(std::int64_t end_ns) noexcept;
    void write(const IterationRecord& record);
    void note_rank(std::optional<std::int64_t> context_rank);
    static void note_parent(RegionEntry& entry, RegionId parent);
    void collect_parents();
    void finish(bool failed, std::string_view error) noexcept;
    void finish_sinks() noexcept;
    void note_rank_of_ended_run(std::int64_t context_rank) noexcept;
    void report_silence(const RunSummary& summary);
    void report_files();
    void warn_once(const std::string& line);
    bool is_forked_copy() const noexcept;
    std::string quoted(RegionId region) const;

    Options options_;
    RecordingWindow window_;
    Services services_;
    std::unique_ptr<Backend> backend_;
    std::vector<std::shared_ptr<Sink>> sinks_;
    RunContext context_;

    std::atomic<bool> recording_{false};
    std::atomic<Phase> phase_{Phase::idle};
    std::atomic<std::thread::id> owner_{};
    int owner_pid_ = 0;
    std::uint32_t run_number_ = 0;
    int exceptions_at_start_ = 0;

    std::vector<RegionEntry> regions_;
    std::unordered_map<std::string_view, RegionId> region_ids_;
    std::deque<std::string> region_names_;
    std::vector<Frame> frames_;

    std::int64_t iteration_ = 0;
    std::int64_t iteration_start_ns_ = 0;
    ColumnTable columns_;
    ColumnId total_column_;
    ColumnId peak_column_;
    IterationRecord record_;
    bool has_record_ = false;
    bool region_seen_ = false;
    RunSummary summary_;
    std::int64_t profiler_ns_ = 0;
    std::vector<std::string> warned_;
};

inline ScopedRegion::ScopedRegion(Profiler& profiler, RegionId region) : region_(region)
{
    if (profiler.is_recording()) [[unlikely]] {
        profiler.enter(region);
        profiler_ = &profiler;
    }
}

inline ScopedRegion::~ScopedRegion()
{
    if (profiler_ != nullptr) [[unlikely]] {
        profiler_->leave_scope(region_);
    }
}

/// A profiler on the CPU, or on `services.device`. Throws ConfigError; `options.device` other
/// than "cpu" needs iterscope/torch/make_profiler.hpp.
std::unique_ptr<Profiler> make_profiler(Options options, Services services = {});

}  // namespace iterscope
