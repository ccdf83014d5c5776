#include <iterscope/profiler.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <iostream>

#include <iterscope/error.hpp>

namespace iterscope {

namespace {

void print_line(const std::string& line) { std::cerr << "iterscope: " + line + "\n"; }

std::string host_name()
{
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::int64_t unix_now_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

constexpr double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

}  // namespace

Profiler::Profiler(Options options, std::unique_ptr<Backend> backend, Services services)
    : options_(std::move(options)),
      window_(0, 0),
      services_(std::move(services)),
      backend_(std::move(backend)),
      sinks_(std::move(services_.sinks)),
      total_column_(columns_.add("total_time_sec")),
      peak_column_(columns_.add("max_gpu_mb"))
{
    if (!services_.warn) {
        services_.warn = print_line;
    }
    if (!services_.inform) {
        services_.inform = print_line;
    }
    if (!services_.clock) {
        services_.clock = std::make_shared<SteadyClock>();
    }
    if (!services_.environment) {
        services_.environment = process_environment();
    }
    for (const std::string& line : validate(options_)) {
        services_.warn(line);
    }
    window_ = window_of(options_);
    if (backend_ != nullptr) {
        backend_->add_columns(columns_);
    }
    frames_.reserve(64);
    frames_.emplace_back();
}

Profiler::~Profiler()
{
    const bool unwinding = std::uncaught_exceptions() > exceptions_at_start_;
    finish(unwinding, unwinding ? "an exception ended the run" : "");
}

void Profiler::start()
{
    if (backend_ == nullptr) {
        return;
    }
    if (phase_ != Phase::idle) {
        throw UsageError(
            "the profiler is already running (one run goes from start() to finalize()); finalize "
            "it first, or create a second profiler");
    }
    backend_->check_start();
    begin_run();
    begin_sinks();
    try {
        enter_window_or_leave_it();
    } catch (const std::exception& error) {
        fail(error.what());
        throw;
    }
    iteration_start_ns_ = is_recording() ? services_.clock->now_ns() : 0;
}

void Profiler::begin_run()
{
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    owner_pid_ = getpid();
    was_started_ = true;
    exceptions_at_start_ = std::uncaught_exceptions();
    frames_.resize(1);
    for (RegionEntry& region : regions_) {
        region.depth = 0;
    }
    iteration_ = 0;
    has_record_ = false;
    region_seen_ = false;
    summary_ = {};
    profiler_ns_ = 0;
    warned_.clear();

    context_ = {};
    context_.options = options_;
    context_.launch = discover_launch(
        services_.environment, services_.process_group ? services_.process_group() : std::nullopt);
    context_.device = services_.device ? services_.device->name() : options_.device;
    context_.host = host_name();
    context_.start_unix_ns = unix_now_ns();
    context_.versions = services_.versions;
    for (const std::string& line : context_.launch.warnings) {
        warn_once(line);
    }
}

void Profiler::begin_sinks()
{
    auto sink = sinks_.begin();
    try {
        for (; sink != sinks_.end(); ++sink) {
            (*sink)->begin(context_);
        }
    } catch (...) {
        std::for_each(sinks_.begin(), sink, [](const auto& begun) { begun->cancel(); });
        context_.stem.clear();
        throw;
    }
    phase_ = Phase::warmup;
}

void Profiler::start_iterations()
{
    if (phase_ == Phase::idle) {
        return;
    }
    if (iteration_ > 0) {
        throw UsageError("start_iterations() after end_iteration() (" + std::to_string(iteration_) +
                         " iterations have ended); call it once, before the loop");
    }
    if (!is_recording()) {
        return;
    }
    check_thread("start_iterations()");
    check_nothing_open("start_iterations()");
    backend_->open_window();
    backend_->begin_iteration(iteration_, frames_.front());
    iteration_start_ns_ = services_.clock->now_ns();
}

void Profiler::end_iteration(std::optional<std::int64_t> context_rank)
{
    if (phase_ == Phase::idle) {
        if (backend_ != nullptr && !was_started_) {
            warn_once(
                "end_iteration() before start() (nothing is recorded); enter the profiler with "
                "start(), in Python with a with statement");
        }
        return;
    }
    if (!is_recording()) {
        note_rank(context_rank);
        has_record_ = false;
        ++iteration_;
        if (phase_ == Phase::warmup) {
            enter_window_or_leave_it();
            iteration_start_ns_ = is_recording() ? services_.clock->now_ns() : 0;
        }
        return;
    }
    check_thread("end_iteration()");
    check_nothing_open("end_iteration()");
    backend_->settle();

    const std::int64_t end_ns = services_.clock->now_ns();
    note_rank(context_rank);
    record_.iteration = iteration_;
    record_.metrics.clear();
    record_.metrics.push_back({total_column_, seconds(end_ns - iteration_start_ns_)});
    backend_->collect(frames_.front(), peak_column_, record_);
    has_record_ = true;
    ++summary_.recorded_iterations;
    write(record_);
    ++iteration_;
    enter_window_or_leave_it();
    iteration_start_ns_ = services_.clock->now_ns();
    profiler_ns_ += iteration_start_ns_ - end_ns;
}

void Profiler::enter_window_or_leave_it()
{
    if (window_.contains(iteration_)) {
        if (!is_recording()) {
            backend_->open_window();
        }
        backend_->begin_iteration(iteration_, frames_.front());
        phase_ = Phase::recording;
        recording_.store(true, std::memory_order_relaxed);
        return;
    }
    if (is_recording()) {
        recording_.store(false, std::memory_order_relaxed);
        backend_->close_window();
    }
    phase_ = window_.is_over(iteration_) ? Phase::over : Phase::warmup;
}

void Profiler::write(const IterationRecord& record)
{
    if (sinks_.empty() || is_forked_copy()) {
        return;
    }
    bool is_lost = false;
    for (const std::shared_ptr<Sink>& sink : sinks_) {
        try {
            sink->write(record, columns_);
        } catch (const std::exception& error) {
            is_lost = true;
            warn_once(error.what());
        }
    }
    summary_.rows_lost += is_lost ? 1 : 0;
}

void Profiler::note_rank(std::optional<std::int64_t> context_rank)
{
    if (!context_rank || *context_rank == context_.launch.rank ||
        std::ranges::count(summary_.other_ranks, *context_rank) > 0) {
        return;
    }
    summary_.other_ranks.push_back(*context_rank);
    if (summary_.other_ranks.size() == 1) {
        warn_once("the context says rank " + std::to_string(*context_rank) +
                  ", the run started as rank " + std::to_string(context_.launch.rank) +
                  " (files keep the rank of the start); start the profiler after the process "
                  "group");
    }
}

std::vector<std::pair<std::string, double>> Profiler::current_metrics() const
{
    std::vector<std::pair<std::string, double>> metrics;
    if (has_record_) {
        for (const Metric& metric : record_.metrics) {
            metrics.emplace_back(columns_.name(metric.column), metric.value);
        }
    }
    return metrics;
}

void Profiler::finalize(std::optional<std::int64_t> context_rank) noexcept
{
    try {
        if (phase_ != Phase::idle) {
            note_rank(context_rank);
        }
    } catch (...) {  // out of memory for a warning: the run still ends below
    }
    finish(false, "");
}

void Profiler::fail(std::string_view error) noexcept { finish(true, error); }

void Profiler::finish(bool failed, std::string_view error) noexcept
{
    if (phase_ == Phase::idle) {
        return;
    }
    phase_ = Phase::idle;
    if (recording_.exchange(false, std::memory_order_relaxed)) {
        backend_->close_window();
    }
    frames_.resize(1);
    if (is_forked_copy()) {
        return;
    }
    try {
        summary_.failed = failed;
        summary_.error = error;
        summary_.iterations = iteration_;
        summary_.profiler_time_sec = seconds(profiler_ns_);
        backend_->summarize(summary_);
        report_silence(summary_);
        if (!sinks_.empty() && summary_.region_count > 0) {
            summary_.region_cost_sec = backend_->region_cost_sec();
        }
        for (const std::shared_ptr<Sink>& sink : sinks_) {
            try {
                sink->finish(summary_);
            } catch (const std::exception& problem) {
                warn_once(problem.what());
            }
        }
        if (!context_.stem.empty() && context_.launch.rank == 0) {
            const std::int64_t rows = summary_.recorded_iterations - summary_.rows_lost;
            services_.inform("saved " + std::to_string(rows) + " rows in " +
                             (context_.folder / context_.stem).string() + "_*");
        }
    } catch (...) {  // a run that cannot report its end has still kept its rows
    }
}

void Profiler::report_silence(const RunSummary& summary)
{
    if (summary.failed) {
        return;
    }
    if (iteration_ == 0 && (summary.region_count > 0 || region_seen_)) {
        warn_once(
            "nothing was recorded (regions were entered, but end_iteration() was never called); "
            "call end_iteration() at the end of every iteration");
    } else if (iteration_ > 0 && iteration_ <= window_.first()) {
        warn_once("nothing was recorded (the run ended after " + std::to_string(iteration_) +
                  " iterations, the window opens after " + std::to_string(window_.first()) +
                  "); lower warmup or run longer");
    }
}

void Profiler::warn_once(const std::string& line)
{
    if (std::ranges::count(warned_, line) == 0) {
        warned_.push_back(line);
        services_.warn(line);
    }
}

std::vector<std::pair<std::string, std::filesystem::path>> Profiler::files() const
{
    std::vector<std::pair<std::string, std::filesystem::path>> files;
    for (const std::shared_ptr<Sink>& sink : sinks_) {
        auto file = sink->file();
        if (!file.first.empty()) {
            files.push_back(std::move(file));
        }
    }
    return files;
}

bool Profiler::is_forked_copy() const noexcept { return getpid() != owner_pid_; }

}  // namespace iterscope
