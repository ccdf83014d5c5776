#include "kineto_session.hpp"

#include <thread>

#include "communication.hpp"

namespace iterscope {

namespace {

/// Begun under a cycle; where it ends, that may be over.
struct CycleContext final : at::ObserverContext {
    CycleContext(std::shared_ptr<KinetoSession> the_session, std::int64_t the_cycle,
                 std::uint64_t the_recording_thread)
        : session(std::move(the_session)), cycle(the_cycle), recording_thread(the_recording_thread)
    {
    }

    std::shared_ptr<KinetoSession> session;
    std::int64_t cycle;
    std::uint64_t recording_thread;
};

/// This thread's way through Kineto's callback, from our first to our last.
struct Passage {
    KinetoSession* inside = nullptr;
    bool is_hidden = false;
};

Passage& passage()
{
    static thread_local Passage passage;
    return passage;
}

/// True if Kineto may see what begins or ends now.
bool go_in(const CycleContext& context)
{
    if (context.recording_thread == at::RecordFunction::currentThreadId()) {
        // It ends cycles itself, so none ends meanwhile.
        if (!context.session->is_over(context.cycle)) {
            return true;
        }
    } else if (context.session->try_enter(context.cycle)) {
        passage().inside = context.session.get();
        return true;
    }
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, nullptr);
    passage().is_hidden = true;
    return false;
}

void come_out()
{
    const Passage done = std::exchange(passage(), {});
    if (done.inside != nullptr) {
        done.inside->leave();
    }
    if (done.is_hidden) {
        c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
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
    auto context =
        std::make_unique<CycleContext>(info->session, info->cycle, info->recording_thread);
    if (!go_in(*context)) {
        info->session->count_late(1);
    }
    return context;
}

void before_end(const at::RecordFunction& /*function*/, at::ObserverContext* context)
{
    if (context != nullptr) {
        go_in(static_cast<const CycleContext&>(*context));
    }
}

std::unique_ptr<at::ObserverContext> after_start(const at::RecordFunction& function)
{
    const MarkInfo* info = carried_mark();
    const bool is_asynchronous = function.isAsync();
    // On the recording thread, what contains it says where it belongs.
    const bool is_elsewhere =
        info != nullptr && info->recording_thread != at::RecordFunction::currentThreadId();
    const bool is_worth_a_note = is_elsewhere || (info != nullptr && is_asynchronous);
    if (is_worth_a_note && !passage().is_hidden) {
        info->session->note({function.handle(), info->mark,
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

at::RecordFunctionCallback KinetoSession::first_callback()
{
    return with_scopes(at::RecordFunctionCallback(before_start, before_end));
}

at::RecordFunctionCallback KinetoSession::last_callback()
{
    return with_scopes(at::RecordFunctionCallback(after_start, after_end));
}

}  // namespace iterscope
