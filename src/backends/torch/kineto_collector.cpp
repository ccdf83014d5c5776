#include "kineto_collector.hpp"

#include <libkineto.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>

#include <iterscope/error.hpp>

#include "global_profiler.hpp"
#include "kineto_events.hpp"
#include "kineto_log.hpp"

namespace iterscope {

namespace {

namespace profiler = ::torch::profiler::impl;
namespace autograd = ::torch::autograd::profiler;

/// Also one that is prepared and not yet started, or that runs on another thread: there is one
/// Kineto, and preparing it throws away what it holds.
bool is_profiled()
{
    return profiler::profilerType() != profiler::ActiveProfilerType::NONE ||
           has_global_profiler() ||
           (libkineto::api().isProfilerRegistered() &&
            libkineto::api().activityProfiler().isActive());
}

std::optional<profiler::ActivityType> activity_of(c10::Device device)
{
    switch (device.type()) {
        case c10::kCUDA:
            return profiler::ActivityType::CUDA;
        case c10::kXPU:
            return profiler::ActivityType::XPU;
        case c10::kPrivateUse1:
            return profiler::ActivityType::PrivateUse1;
        default:
            return std::nullopt;
    }
}

profiler::ProfilerConfig configuration()
{
    return profiler::ProfilerConfig(profiler::ProfilerState::KINETO, false, true);
}

/// What the table is made from. A trace shows more: the calls of the runtime that launch nothing,
/// the regions on the device, the overhead of CUPTI.
autograd::ActivityFilter needed_for_tables(const std::set<profiler::ActivityType>& activities)
{
    autograd::ActivityFilter filter{
        {profiler::ActivityType::CPU,
         {"CPU_OP", "CPU_INSTANT_EVENT", "USER_ANNOTATION", "EXTERNAL_CORRELATION"}}};
    if (activities.contains(profiler::ActivityType::CUDA)) {
        filter[profiler::ActivityType::CUDA] = {"GPU_MEMCPY", "GPU_MEMSET", "CONCURRENT_KERNEL",
                                                "CUDA_RUNTIME", "CUDA_DRIVER"};
    }
    return filter;
}

std::unique_ptr<KinetoCollector::Result> disable() noexcept
{
    try {
        const QuietKineto quiet;
        return autograd::disableProfiler();
    } catch (const std::exception&) {
        return nullptr;  // somebody else has ended it
    }
}

}  // namespace

KinetoCollector::KinetoCollector(c10::Device device, bool keeps_result)
    : device_(device.is_cpu() ? c10::Device(c10::kCPU) : device),
      keeps_result_(keeps_result),
      session_(std::make_shared<KinetoSession>())
{
}

KinetoCollector::~KinetoCollector() { close(); }

void KinetoCollector::open()
{
    reclaim();
    if (is_on_ || is_profiled()) {
        throw UsageError(
            "mode torch cannot start while a PyTorch profiler is on or prepared (there is one "
            "recording in a process, and the other one would lose its data); stop it first, or "
            "use mode custom");
    }
}

bool KinetoCollector::start() noexcept
{
    reclaim();
    if (is_profiled()) {
        return false;  // one that began after open(): it keeps its data, we wait
    }
    try {
        std::set<profiler::ActivityType> activities{profiler::ActivityType::CPU};
        if (const auto accelerator = activity_of(device_)) {
            activities.insert(*accelerator);
        }
        const profiler::ProfilerConfig config = configuration();
        first_callback_ = at::addThreadLocalCallback(KinetoSession::first_callback());
        QuietKineto quiet;
        autograd::prepareProfiler(
            config, activities,
            keeps_result_ ? autograd::ActivityFilter() : needed_for_tables(activities));
        quiet.insist();
        autograd::enableProfiler(config, activities,
                                 {at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE,
                                  at::RecordScope::BACKWARD_FUNCTION});
    } catch (const std::exception&) {
        at::removeCallback(first_callback_);
        return false;
    }
    last_callback_ = at::addThreadLocalCallback(KinetoSession::last_callback());
    recording_ = std::make_shared<KinetoCycle>(
        KinetoCycle{session_, ++cycle_, at::RecordFunction::currentThreadId(),
                    c10::ThreadLocalDebugInfo::_peek(c10::DebugInfoKind::PROFILER_STATE)});
    places_ = {c10::ThreadLocalDebugInfo::current()};
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE,
                                     make_memory_gate(recording_));
    places_.push_back(c10::ThreadLocalDebugInfo::current());
    return true;
}

void KinetoCollector::begin_iteration(std::int64_t iteration)
{
    stop();
    marks_.clear();
    entered_.clear();
    is_partial_ = !start();
    if (is_partial_) {
        return;
    }
    is_on_ = true;
    session_->begin_cycle(cycle_);
    push_mark(k_no_region, mark_prefix() + "i" + std::to_string(iteration));
}

void KinetoCollector::next_iteration(std::int64_t iteration)
{
    if (!is_on_) {
        return;
    }
    if (open_.size() != 1 || !pop_mark()) {
        stop();
        is_partial_ = true;
        return;
    }
    push_mark(k_no_region, mark_prefix() + "i" + std::to_string(iteration));
}

void KinetoCollector::enter(RegionId region)
{
    if (std::ranges::find(entered_, region) == entered_.end()) {
        entered_.push_back(region);
    }
    if (is_on_) {
        push_mark(region, region_label(region));
    }
}

void KinetoCollector::leave(RegionId region) noexcept
{
    if (!is_on_) {
        return;
    }
    const bool is_innermost = open_.size() > 1 && open_.back().region == region;
    if (!is_innermost || !pop_mark()) {
        stop();
        is_partial_ = true;
    }
}

const std::string& KinetoCollector::region_label(RegionId region)
{
    while (labels_.size() <= region) {
        labels_.push_back(mark_prefix() + "r" + std::to_string(labels_.size()));
    }
    return labels_[region];
}

void KinetoCollector::push_mark(RegionId region, const std::string& name)
{
    const auto mark = static_cast<MarkId>(marks_.size());
    marks_.push_back(region);
    c10::ThreadLocalDebugInfo::_push(k_mark_kind, std::make_shared<MarkInfo>(recording_, mark));
    open_.push_back({region, c10::ThreadLocalDebugInfo::current()});
    at::RecordFunction& function = functions_.emplace_back(at::RecordScope::USER_SCOPE);
    if (function.isActive()) {
        function.setDebugHandle(k_first_mark_handle + mark);
        function.before(std::string_view(name));
    }
}

bool KinetoCollector::pop_mark() noexcept
{
    functions_.pop_back();
    if (c10::ThreadLocalDebugInfo::current() != open_.back().place) {
        return false;
    }
    c10::ThreadLocalDebugInfo::_pop(k_mark_kind);
    open_.pop_back();
    return true;
}

std::unique_ptr<KinetoCollector::Result> KinetoCollector::stop() noexcept
{
    if (!is_on_) {
        return nullptr;
    }
    is_on_ = false;
    while (!functions_.empty()) {
        functions_.pop_back();
    }
    session_->end_cycle();
    at::removeCallback(first_callback_);
    at::removeCallback(last_callback_);
    while (!open_.empty() && c10::ThreadLocalDebugInfo::current() == open_.back().place) {
        c10::ThreadLocalDebugInfo::_pop(k_mark_kind);
        open_.pop_back();
    }
    if (!open_.empty() || c10::ThreadLocalDebugInfo::current() != places_.back()) {
        abandon();
        return nullptr;
    }
    recording_.reset();
    return unwind(places_);
}

/// Takes away what is ours and on top. The recording, if that was all.
std::unique_ptr<KinetoCollector::Result> KinetoCollector::unwind(
    std::vector<Place>& places) noexcept
{
    while (places.size() > 1 && c10::ThreadLocalDebugInfo::current() == places.back()) {
        c10::ThreadLocalDebugInfo::_pop(places.size() > 2 ? k_mark_kind
                                                          : c10::DebugInfoKind::PROFILER_STATE);
        places.pop_back();
    }
    if (places.size() != 1 || c10::ThreadLocalDebugInfo::current() != places.back()) {
        return nullptr;
    }
    places.clear();
    return disable();
}

void KinetoCollector::abandon() noexcept
{
    is_partial_ = true;
    // Alive as long as its place is.
    static_cast<profiler::ProfilerStateBase&>(*recording_->state).removeCallback();
    recording_.reset();
    abandoned_ = std::move(places_);
    for (OpenMark& mark : open_) {
        abandoned_.push_back(std::move(mark.place));
    }
    open_.clear();
}

void KinetoCollector::reclaim() noexcept
{
    unwind(abandoned_);
    if (profiler::profilerType() == profiler::ActiveProfilerType::NONE) {
        abandoned_.clear();  // ended by somebody else
    }
}

void KinetoCollector::end_iteration(OperatorTable& table)
{
    const bool was_on = is_on_;
    std::unique_ptr<Result> result = stop();
    is_partial_ = is_partial_ || (was_on && result == nullptr);
    std::vector<RecordNote> notes = session_->take_notes();
    table.clear();
    if (result != nullptr) {
        DeviceTimeline timeline = read_events(*result, device_);
        // A recording that another profiler took over has lost its beginning or its end.
        is_partial_ = is_partial_ || count_marks(timeline) != marks_.size();
        timeline.marks = marks_;
        timeline.notes = std::move(notes);
        has_seen_device_ = has_seen_device_ || !timeline.device.empty();
        const TimelineLosses losses = fill_table(timeline, table);
        session_->count_late(losses.unfinished);
        is_partial_ = is_partial_ || losses.unplaced > 0;
    }
    for (const RegionId region : entered_) {
        if (std::ranges::find(table.regions, region, &RegionActivity::region) ==
            table.regions.end()) {
            table.regions.push_back({region, 0, 0});
        }
    }
    table.is_partial = is_partial_;
    result_ = keeps_result_ ? std::move(result) : nullptr;
}

void KinetoCollector::close() noexcept
{
    stop();
    reclaim();
    session_->take_notes();
}

}  // namespace iterscope
