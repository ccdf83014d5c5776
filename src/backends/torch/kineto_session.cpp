#include "kineto_session.hpp"

#include <torch/csrc/profiler/orchestration/observer.h>

#include <optional>
#include <thread>

#include "communication.hpp"

namespace iterscope {

namespace {

/// Begun under a cycle; where it ends, that may be over.
struct CycleContext final : at::ObserverContext {
    explicit CycleContext(std::shared_ptr<KinetoCycle> the_cycle) : cycle(std::move(the_cycle)) {}

    std::shared_ptr<KinetoCycle> cycle;
};

/// A way into Kineto that is closed when the cycle is over, and keeps it open meanwhile.
class Entry {
public:
    explicit Entry(const KinetoCycle& cycle)
    {
        if (cycle.thread == at::RecordFunction::currentThreadId()) {
            is_open_ = !cycle.session->is_over(cycle.number);  // it ends cycles itself
        } else if (cycle.session->try_enter(cycle.number)) {
            is_open_ = true;
            inside_ = cycle.session.get();
        }
    }
    ~Entry()
    {
        if (inside_ != nullptr) {
            inside_->leave();
        }
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    bool is_open() const noexcept { return is_open_; }

private:
    bool is_open_ = false;
    KinetoSession* inside_ = nullptr;
};

class MemoryGate final : public ::torch::profiler::impl::ProfilerStateBase {
public:
    explicit MemoryGate(std::shared_ptr<KinetoCycle> cycle)
        : ProfilerStateBase(::torch::profiler::impl::ProfilerConfig(
              ::torch::profiler::impl::ProfilerState::KINETO, false, true)),
          cycle_(std::move(cycle)),
          state_(dynamic_cast<c10::MemoryReportingInfoBase*>(cycle_->state.get()))
    {
    }

    ::torch::profiler::impl::ActiveProfilerType profilerType() override
    {
        return ::torch::profiler::impl::ActiveProfilerType::KINETO;
    }
    void reportMemoryUsage(void* pointer, std::int64_t bytes, std::size_t allocated,
                           std::size_t reserved, c10::Device device) override
    {
        const Entry entry(*cycle_);
        if (entry.is_open() && state_ != nullptr) {
            state_->reportMemoryUsage(pointer, bytes, allocated, reserved, device);
        }
    }
    void reportOutOfMemory(std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                           c10::Device device) override
    {
        const Entry entry(*cycle_);
        if (entry.is_open() && state_ != nullptr) {
            state_->reportOutOfMemory(bytes, allocated, reserved, device);
        }
    }

private:
    std::shared_ptr<KinetoCycle> cycle_;
    c10::MemoryReportingInfoBase* state_;
};

/// This thread's way through Kineto's callback, from our first to our last.
struct Passage {
    std::optional<Entry> entry;
    bool is_through = false;
};

Passage& passage()
{
    static thread_local Passage passage;
    return passage;
}

/// Shows Kineto its recording, or none. False if the cycle is over.
bool go_in(const KinetoCycle& cycle)
{
    Passage& way = passage();
    const bool is_open = way.entry.emplace(cycle).is_open();
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE,
                                     is_open ? cycle.state : nullptr);
    way.is_through = true;
    return is_open;
}

void come_out()
{
    Passage& way = passage();
    if (std::exchange(way.is_through, false)) {
        c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
        way.entry.reset();
    }
}

const MarkInfo* carried_mark()
{
    return static_cast<const MarkInfo*>(c10::ThreadLocalDebugInfo::get(k_mark_kind));
}

std::unique_ptr<at::ObserverContext> before_start(const at::RecordFunction& /*function*/)
{
    const MarkInfo* info = carried_mark();
    if (info == nullptr) {
        return nullptr;
    }
    if (!go_in(*info->cycle)) {
        info->cycle->session->count_late(1);
    }
    return std::make_unique<CycleContext>(info->cycle);
}

void before_end(const at::RecordFunction& /*function*/, at::ObserverContext* context)
{
    if (context != nullptr) {
        go_in(*static_cast<const CycleContext&>(*context).cycle);
    }
}

std::unique_ptr<at::ObserverContext> after_start(const at::RecordFunction& function)
{
    const Passage& way = passage();
    if (!way.is_through) {
        return nullptr;
    }
    const MarkInfo* info = carried_mark();
    const bool is_asynchronous = function.isAsync();
    // On the recording thread, what contains it says where it belongs.
    const bool is_elsewhere = info->cycle->thread != at::RecordFunction::currentThreadId();
    if ((is_elsewhere || is_asynchronous) && way.entry->is_open()) {
        info->cycle->session->note({function.handle(), info->mark,
                                    is_asynchronous ? communication_group() : std::string()});
    }
    come_out();
    return nullptr;
}

void after_end(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/)
{
    come_out();
}

at::RecordFunctionCallback with_scopes(at::RecordFunctionCallback callback)
{
    // Those of PyTorch's own profiler. Without ids all events would have the same one.
    return callback.needsIds(true).scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE,
                                           at::RecordScope::BACKWARD_FUNCTION});
}

}  // namespace

bool KinetoSession::try_enter(std::int64_t cycle) noexcept
{
    inside_.fetch_add(1);
    if (!is_over(cycle)) {
        return true;
    }
    inside_.fetch_sub(1);
    return false;
}

void KinetoSession::end_cycle() noexcept
{
    cycle_.store(k_no_cycle);
    while (inside_.load() != 0) {
        std::this_thread::yield();
    }
}

std::shared_ptr<c10::DebugInfoBase> make_memory_gate(std::shared_ptr<KinetoCycle> cycle)
{
    return std::make_shared<MemoryGate>(std::move(cycle));
}

at::RecordFunctionCallback KinetoSession::first_callback()
{
    return with_scopes(at::RecordFunctionCallback(before_start, before_end));
}

at::RecordFunctionCallback KinetoSession::last_callback()
{
    return with_scopes(at::RecordFunctionCallback(after_start, after_end));
}

}  // namespace iterscope
