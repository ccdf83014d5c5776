// How a run begins and ends; what happens in between is in profiler.cpp.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

#include <iterscope/error.hpp>
#include <iterscope/profiler.hpp>

#include "units.hpp"

namespace iterscope {

namespace {

std::string host_name()
{
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

void Profiler::start()
{
    if (backend_ == nullptr) {
        return;
    }
    if (is_running()) {
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
    ++run_number_;
    exceptions_at_start_ = std::uncaught_exceptions();
    frames_.resize(1);
    for (RegionEntry& region : regions_) {
        region.depth = 0;
        region.last_parent = k_unknown_parent;
        region.parents.clear();
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
    context_.warn = [this](const std::string& line) { warn_once(line); };
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
    set_phase(Phase::warmup);
}

void Profiler::finalize(std::optional<std::int64_t> context_rank)
{
    if (is_recording()) {
        check_thread("finalize()");
    }
    if (is_running()) {
        note_rank(context_rank);
    } else if (context_rank && run_number_ > 0) {
        note_rank_of_ended_run(*context_rank);
    }
    close();
}

void Profiler::fail(std::string_view error)
{
    if (is_recording()) {
        check_thread("fail()");
    }
    finish(true, error);
}

void Profiler::note_rank_of_ended_run(std::int64_t context_rank) noexcept
{
    const std::size_t known = summary_.other_ranks.size();
    note_rank(context_rank);
    if (summary_.other_ranks.size() > known) {
        finish_sinks();
    }
}

void Profiler::finish(bool failed, std::string_view error) noexcept
{
    if (!is_running()) {
        return;
    }
    set_phase(Phase::idle);
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
        summary_.profiler_time_sec = static_cast<double>(profiler_ns_) / 1e9;
        backend_->summarize(summary_);
        collect_parents();
        report_silence(summary_);
        if (!sinks_.empty() && summary_.region_count > 0) {
            summary_.region_cost_sec = backend_->region_cost_sec();
        }
        finish_sinks();
        report_files();
    } catch (...) {  // a run that cannot report its end has still kept its rows
    }
}

void Profiler::finish_sinks() noexcept
{
    for (const std::shared_ptr<Sink>& sink : sinks_) {
        try {
            sink->finish(summary_);
        } catch (const std::exception& problem) {
            warn_once(problem.what());
        }
    }
}

void Profiler::report_files()
{
    if (context_.stem.empty()) {
        return;
    }
    for (const auto& [kind, path] : files()) {
        if (!std::filesystem::exists(path)) {
            warn_once(
                "'" + path.string() +
                "' is gone (something removed it during the run); keep outputs/ until the run "
                "has ended");
            return;
        }
    }
    if (context_.launch.rank == 0) {
        const std::int64_t rows = summary_.recorded_iterations - summary_.rows_lost;
        services_.inform("saved " + std::to_string(rows) + " rows in " +
                         (context_.folder / context_.stem).string() + "_*");
    }
}

void Profiler::collect_parents()
{
    for (const RegionEntry& region : regions_) {
        if (region.parents.empty()) {
            continue;
        }
        std::vector<std::string> names;
        names.reserve(region.parents.size());
        for (const RegionId parent : region.parents) {
            names.push_back(parent == k_no_region ? std::string() : *regions_[parent].name);
        }
        summary_.region_parents.emplace_back(*region.name, std::move(names));
    }
}

void Profiler::report_silence(const RunSummary& summary)
{
    if (summary.failed) {
        return;
    }
    if (summary.lacks_device_times) {
        warn_once(
            "no device times came, so their cells are empty (there is no such device, another tool "
            "such as Nsight Systems holds its counters, or it did no work); see that only one tool "
            "reads the device");
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

}  // namespace iterscope
