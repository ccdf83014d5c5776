#include <iterscope/profiler.hpp>

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>

#include <iterscope/error.hpp>

#include "units.hpp"

namespace iterscope {

namespace {

void print_line(const std::string& line) { std::cerr << "iterscope: " + line + "\n"; }

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
    frames_.push_back({.region = k_no_region});
}

Profiler::~Profiler()
{
    const bool unwinding = std::uncaught_exceptions() > exceptions_at_start_;
    finish(unwinding, unwinding ? "an exception ended the run" : "");
}

void Profiler::start_iterations()
{
    if (!is_running()) {
        return;
    }
    if (iteration_ > 0) {
        throw UsageError("start_iterations() after end_iteration() (" + std::to_string(iteration_) +
                         " iterations have ended); call it before the loop");
    }
    if (!is_recording()) {
        return;
    }
    check_thread("start_iterations()");
    check_nothing_open("start_iterations()");
    backend_->settle();
    backend_->begin_iteration(iteration_, frames_.front());
    iteration_start_ns_ = services_.clock->now_ns();
}

void Profiler::end_iteration(std::optional<std::int64_t> context_rank)
{
    if (!is_running()) {
        has_record_ = false;
        if (backend_ != nullptr && run_number_ == 0) {
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
        if (!is_over()) {
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
    try {
        enter_window_or_leave_it();
    } catch (...) {
        restart_clock(end_ns);
        throw;
    }
    restart_clock(end_ns);
}

void Profiler::restart_clock(std::int64_t end_ns) noexcept
{
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
        set_phase(Phase::recording);
        recording_.store(true, std::memory_order_relaxed);
        return;
    }
    if (is_recording()) {
        recording_.store(false, std::memory_order_relaxed);
        backend_->close_window();
    }
    set_phase(window_.is_over(iteration_) ? Phase::over : Phase::warmup);
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
            is_lost = is_lost || !sink->file().first.empty();
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
