#include "observer_collector.hpp"

#include <ATen/record_function.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <algorithm>
#include <map>

#include <iterscope/error.hpp>

#include "intervals.hpp"
#include "observer_thread.hpp"

namespace iterscope {

namespace {

namespace profiler = ::torch::profiler::impl;

/// PyTorch's allocators report to whatever stands in this slot. They cast it to the profiler's
/// base class, so it has to be one.
class MemoryState final : public profiler::ProfilerStateBase {
public:
    explicit MemoryState(c10::Device device)
        : ProfilerStateBase(profiler::ProfilerConfig(profiler::ProfilerState::CPU, false, true)),
          device_(device)
    {
    }

    profiler::ActiveProfilerType profilerType() override
    {
        return profiler::ActiveProfilerType::LEGACY;
    }
    void reportMemoryUsage(void* /*pointer*/, std::int64_t bytes, std::size_t /*allocated*/,
                           std::size_t /*reserved*/, c10::Device device) override
    {
        const bool is_ours = device.type() == device_.type() &&
                             (!device_.has_index() || device.index() == device_.index());
        if (is_ours) {
            ObserverThread::current().add_memory(bytes);
        }
    }

private:
    c10::Device device_;
};

bool is_profiled()
{
    return profiler::profilerType() != profiler::ActiveProfilerType::NONE ||
           profiler::ProfilerStateBase::getGlobal() != nullptr;
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
    iteration_ = iteration;
    is_partial_ = false;
    entered_.clear();
    if (is_profiled() || ObserverThread::current().is_recording()) {
        is_partial_ = true;  // one that began after open(): it keeps its data, we wait
        return;
    }
    session_->set_iteration(iteration);
    ObserverThread& thread = ObserverThread::current();
    thread.record_into(&sums_, session_);
    push_memory_state();
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
    ObserverThread& thread = ObserverThread::current();
    push_place(tree_.enter(pushed_.back().place, region, thread.is_under_operator()));
}

void ObserverCollector::leave(RegionId region) noexcept
{
    if (!is_on_) {
        return;
    }
    const bool is_innermost = pushed_.size() > 1 && tree_.region(pushed_.back().place) == region;
    if (!is_innermost || !pop_place()) {
        stop();
        is_partial_ = true;
    }
}

void ObserverCollector::push_place(PlaceId place)
{
    c10::ThreadLocalDebugInfo::_push(k_place_kind,
                                     std::make_shared<PlaceInfo>(session_, place, iteration_));
    pushed_.push_back({place, c10::ThreadLocalDebugInfo::current().get()});
    ObserverThread::current().push_region(place, iteration_);
}

bool ObserverCollector::pop_place() noexcept
{
    const Pushed top = pushed_.back();
    pushed_.pop_back();
    const bool is_balanced = ObserverThread::current().pop_region();
    if (c10::ThreadLocalDebugInfo::current().get() != top.info) {
        return false;
    }
    c10::ThreadLocalDebugInfo::_pop(k_place_kind);
    return is_balanced;
}

void ObserverCollector::push_memory_state()
{
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE,
                                     std::make_shared<MemoryState>(device_));
    memory_info_ = c10::ThreadLocalDebugInfo::current().get();
}

bool ObserverCollector::pop_memory_state() noexcept
{
    const c10::ThreadLocalDebugInfo* expected = std::exchange(memory_info_, nullptr);
    if (c10::ThreadLocalDebugInfo::current().get() != expected) {
        return false;
    }
    c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
    return true;
}

void ObserverCollector::stop() noexcept
{
    if (!is_on_) {
        return;
    }
    is_on_ = false;
    session_->set_iteration(ObserverSession::k_no_iteration);
    at::removeCallback(callback_);
    // Down to the first piece that is not ours any more: what lies below it stays with whoever
    // moved it.
    bool is_ours = true;
    while (!pushed_.empty() && is_ours) {
        is_ours = pop_place();
    }
    pushed_.clear();
    if (!is_ours || !pop_memory_state()) {
        is_partial_ = true;
    }
    memory_info_ = nullptr;
    ObserverThread::current().stop_recording();
}

void ObserverCollector::end_iteration(OperatorTable& table)
{
    wait_for_collectives();
    stop();
    table.clear();
    table.is_partial = is_partial_;
    collect_sums(table);
    collect_communication(table);
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

void ObserverCollector::collect_sums(OperatorTable& table)
{
    // By (region, name): a region is reached through several places, an operator on threads.
    std::map<std::pair<RegionId, std::string>, OperatorStats> direct;
    std::map<std::pair<RegionId, std::string>, OperatorStats> full;
    const auto take = [&](const OperatorSums::Entry& entry) {
        if (entry.place == 0) {
            return;  // outside every region
        }
        if (entry.full != OperatorStats{}) {
            full[{tree_.region(entry.place), entry.name}] += entry.full;
        }
        if (entry.direct.count > 0) {
            tree_.for_each_region(entry.place, true, [&](RegionId region) {
                direct[{region, entry.name}] += entry.direct;
            });
        }
    };
    sums_.drain(take);
    session_->drain_workers(take);
    for (const auto& [key, stats] : direct) {
        table.direct.push_back({key.first, key.second, stats});
    }
    for (const auto& [key, stats] : full) {
        table.full.push_back({key.first, key.second, stats});
    }
}

void ObserverCollector::collect_communication(OperatorTable& table)
{
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
        table.regions.push_back({region, 0, covered_ns(by_region[region])});
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
