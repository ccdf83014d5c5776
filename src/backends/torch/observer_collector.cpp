#include "observer_collector.hpp"

#include <ATen/record_function.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <algorithm>
#include <map>

#include <iterscope/error.hpp>

#include "../timeline/intervals.hpp"
#include "global_profiler.hpp"
#include "observer_memory.hpp"
#include "observer_thread.hpp"

namespace iterscope {

namespace {

namespace profiler = ::torch::profiler::impl;

/// More names than any program has operators: labels with a number in them, new ones for ever.
constexpr std::size_t k_most_rows = 16'384;

bool is_profiled()
{
    return profiler::profilerType() != profiler::ActiveProfilerType::NONE || has_global_profiler();
}

}  // namespace

ObserverCollector::ObserverCollector(c10::Device device)
    : device_(device.is_cpu() ? c10::Device(c10::kCPU) : device),
      session_(std::make_shared<ObserverSession>())
{
}

ObserverCollector::~ObserverCollector() { close(); }

void ObserverCollector::open()
{
    ObserverLeftovers::of_this_thread().sweep();
    if (ObserverThread::current().is_recording()) {
        throw UsageError(
            "another profiler already records operators on this thread (each event has one "
            "recorder); finalize it first, or use mode custom for one of them");
    }
    if (is_profiled()) {
        throw UsageError(
            "mode torch cannot start while a PyTorch profiler is on (both read the same events, "
            "and the other one would lose its data); stop it first, or use mode custom");
    }
}

void ObserverCollector::begin_iteration(std::int64_t iteration)
{
    stop();
    ObserverLeftovers::of_this_thread().sweep();
    iteration_ = iteration;
    is_partial_ = false;
    entered_.clear();
    ObserverThread& thread = ObserverThread::current();
    if (is_profiled() || thread.is_recording()) {
        is_partial_ = true;  // one that began after open(): it keeps its data, we wait
        return;
    }
    session_->set_iteration(iteration);
    thread.record_into(&sums_, session_);
    memory_ = std::make_shared<ObserverMemory>(device_);
    entries_.push_back(DebugEntry::push(c10::DebugInfoKind::PROFILER_STATE, memory_));
    push_place(0);
    callback_ = at::addThreadLocalCallback(ObserverThread::callback());
    is_on_ = true;
}

void ObserverCollector::enter(RegionId region)
{
    if (std::ranges::find(entered_, region) == entered_.end()) {
        entered_.push_back(region);
    }
    if (!is_on_) {
        return;
    }
    const bool is_under_operator = ObserverThread::current().is_under_operator();
    push_place(tree_.enter(places_.back(), region, is_under_operator));
}

void ObserverCollector::leave(RegionId region) noexcept
{
    if (!is_on_) {
        return;
    }
    const bool is_innermost = places_.size() > 1 && tree_.region(places_.back()) == region;
    if (!is_innermost || !pop_place()) {
        stop();
        is_partial_ = true;
    }
}

void ObserverCollector::push_place(PlaceId place)
{
    entries_.push_back(
        DebugEntry::push(k_place_kind, std::make_shared<PlaceInfo>(session_, place, iteration_)));
    places_.push_back(place);
    ObserverThread::current().push_region(place, iteration_);
}

bool ObserverCollector::pop_place() noexcept
{
    if (!entries_.back().pop()) {
        return false;
    }
    entries_.pop_back();
    places_.pop_back();
    return ObserverThread::current().pop_region();
}

void ObserverCollector::stop() noexcept
{
    if (!is_on_) {
        return;
    }
    is_on_ = false;
    session_->set_iteration(ObserverSession::k_no_iteration);
    memory_->switch_off();
    memory_.reset();
    auto& leftovers = ObserverLeftovers::of_this_thread();
    leftovers.remove_callback(callback_);
    while (!entries_.empty() && entries_.back().pop()) {
        entries_.pop_back();
    }
    is_partial_ |= !entries_.empty();
    leftovers.add(std::exchange(entries_, {}));
    places_.clear();
    ObserverThread::current().stop_recording();
}

void ObserverCollector::end_iteration(OperatorTable& table)
{
    wait_for_collectives();
    stop();
    // Not cleared: rows are overwritten where they stand.
    table.is_partial = is_partial_;
    const auto take = [this](OperatorSums::Entry& entry) { add_to_rows(entry); };
    sums_.drain(take);
    session_->drain_workers(take);
    direct_rows_.move_to(table.direct);
    full_rows_.move_to(table.full);
    collect_communication(table);
    if (direct_rows_.size() + full_rows_.size() > k_most_rows) {
        forget_names();
    }
}

void ObserverCollector::forget_names()
{
    sums_ = OperatorSums();
    session_->forget_names();
    direct_rows_ = ObserverRows();
    full_rows_ = ObserverRows();
}

void ObserverCollector::wait_for_collectives()
{
    // Gloo completes a future before it ends the event: who waited for the future (DDP does) is
    // here first. What is really in flight is waited for in vain; each time halves our patience,
    // so that a solver that keeps collectives in flight pays twice the first one in all.
    if (is_on_ && !session_->wait_for_collectives(patience_)) {
        patience_ /= 2;
    }
}

void ObserverCollector::add_to_rows(OperatorSums::Entry& entry)
{
    if (entry.place == 0) {
        return;  // outside every region
    }
    // Several entries share a row: a region is reached through several places, an operator on
    // threads. The first number is that of the full table, the others are those of the direct one.
    if (entry.rows.empty()) {
        entry.rows.push_back(full_rows_.row(tree_.region(entry.place), entry.name));
        tree_.for_each_region(entry.place, true, [&](RegionId region) {
            entry.rows.push_back(direct_rows_.row(region, entry.name));
        });
    }
    if (entry.full != OperatorStats{}) {
        full_rows_.add(entry.rows.front(), entry.full);
    }
    if (entry.direct.count > 0) {
        for (auto row = entry.rows.begin() + 1; row != entry.rows.end(); ++row) {
            direct_rows_.add(*row, entry.direct);
        }
    }
}

void ObserverCollector::collect_communication(OperatorTable& table)
{
    table.regions.clear();
    table.collectives.clear();
    table.communication_inside_ns = 0;
    std::map<RegionId, std::vector<Interval>> by_region;
    std::map<RegionId, std::vector<Interval>> by_outermost;
    std::vector<Interval> outside;
    for (ObserverSession::OpenCollective& open : session_->take_collectives()) {
        if (!open.is_done) {
            continue;  // counted as late when it ends
        }
        const Interval interval{open.start_ns, open.start_ns + open.collective.duration_ns};
        RegionId outermost = k_no_region;
        tree_.for_each_region(open.place, false, [&](RegionId region) {
            by_region[region].push_back(interval);
            outermost = region;
        });
        (outermost == k_no_region ? outside : by_outermost[outermost]).push_back(interval);
        open.collective.region = tree_.region(open.place);
        table.collectives.push_back(std::move(open.collective));
    }
    for (const RegionId region : entered_) {
        const auto found = by_region.find(region);
        table.regions.push_back(
            {region, 0, found == by_region.end() ? 0 : covered_ns(found->second)});
    }
    for (auto& [region, intervals] : by_outermost) {
        table.communication_inside_ns += covered_ns(intervals);
    }
    table.communication_outside_ns = covered_ns(outside);
}

void ObserverCollector::close() noexcept
{
    stop();
    sums_.drain([](const OperatorSums::Entry&) {});
    session_->drain_workers([](const OperatorSums::Entry&) {});
    session_->take_collectives();
}

}  // namespace iterscope
