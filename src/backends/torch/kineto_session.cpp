#include "kineto_session.hpp"

#include "communication.hpp"

namespace iterscope {

namespace {

std::unique_ptr<at::ObserverContext> write_note(const at::RecordFunction& function)
{
    const auto* info = static_cast<const MarkInfo*>(c10::ThreadLocalDebugInfo::get(k_mark_kind));
    if (info == nullptr) {
        return nullptr;
    }
    const bool is_asynchronous = function.isAsync();
    if (!is_asynchronous && info->recording_thread == at::RecordFunction::currentThreadId()) {
        return nullptr;  // what contains it says where it belongs
    }
    info->session->note(info->cycle, {function.handle(), info->mark,
                                      is_asynchronous ? communication_group() : std::string()});
    return nullptr;
}

}  // namespace

at::RecordFunctionCallback KinetoSession::callback()
{
    // The scopes of PyTorch's own profiler. Without ids all events would have the same one.
    return at::RecordFunctionCallback(write_note)
        .needsIds(true)
        .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE,
                 at::RecordScope::BACKWARD_FUNCTION});
}

}  // namespace iterscope
