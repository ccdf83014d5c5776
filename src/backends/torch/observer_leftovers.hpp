#pragma once

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <memory>
#include <vector>

namespace iterscope {

/// One entry that we pushed on the thread's stack of debug information.
struct DebugEntry {
    c10::DebugInfoKind kind;
    std::shared_ptr<c10::ThreadLocalDebugInfo> info;

    static DebugEntry push(c10::DebugInfoKind kind, std::shared_ptr<c10::DebugInfoBase> what);
    /// False, and nothing happens, unless it is the top of the stack.
    bool pop() const noexcept;
};

/// What a collector could not take off its thread: something of somebody else's lay on top, or
/// another thread state was in place. It does nothing there, and is taken off when it comes to
/// light again and a collector looks.
class ObserverLeftovers {
public:
    static ObserverLeftovers& of_this_thread();

    void add(std::vector<DebugEntry> entries);
    /// Removes the callback, now or later.
    void remove_callback(at::CallbackHandle callback) noexcept;
    void sweep() noexcept;

private:
    std::vector<DebugEntry> entries_;
    std::vector<at::CallbackHandle> callbacks_;
};

}  // namespace iterscope
