#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include "device_timeline.hpp"

namespace iterscope {

/// What Kineto's events do not say: for which opened region another thread works, and whose group
/// a collective is. Owned by the collector and by all work that may still run when it is gone.
class KinetoSession {
public:
    static constexpr std::int64_t k_no_cycle = -1;

    /// The stretch that is recorded now.
    std::int64_t cycle() const noexcept { return cycle_.load(std::memory_order_acquire); }
    void set_cycle(std::int64_t cycle) noexcept { cycle_.store(cycle, std::memory_order_release); }

    void count_late(std::int64_t count) noexcept
    {
        late_.fetch_add(count, std::memory_order_relaxed);
    }
    std::int64_t late() const noexcept { return late_.load(std::memory_order_relaxed); }

    void note(std::int64_t cycle, RecordNote note)
    {
        const std::lock_guard lock(mutex_);
        if (cycle == this->cycle()) {
            notes_.push_back(std::move(note));
        } else {
            count_late(1);
        }
    }
    std::vector<RecordNote> take_notes()
    {
        const std::lock_guard lock(mutex_);
        return std::exchange(notes_, {});
    }

    /// Writes the notes. Register it as a thread-local callback: PyTorch's thread state then
    /// carries it to the threads that work for this one.
    static at::RecordFunctionCallback callback();

private:
    std::atomic<std::int64_t> cycle_{k_no_cycle};
    std::atomic<std::int64_t> late_{0};
    std::mutex mutex_;
    std::vector<RecordNote> notes_;
};

/// Travels with PyTorch's thread state to the threads that work for an opened region.
struct MarkInfo final : c10::DebugInfoBase {
    MarkInfo(std::shared_ptr<KinetoSession> the_session, MarkId the_mark, std::int64_t the_cycle)
        : session(std::move(the_session)),
          mark(the_mark),
          cycle(the_cycle),
          recording_thread(at::RecordFunction::currentThreadId())
    {
    }

    std::shared_ptr<KinetoSession> session;
    MarkId mark;
    std::int64_t cycle;
    std::uint64_t recording_thread;
};

inline constexpr std::string_view k_mark_kind_name = "ITERSCOPE_MARK";
inline constexpr c10::DebugInfoKind k_mark_kind{&k_mark_kind_name};

}  // namespace iterscope
