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

#include "../timeline/device_timeline.hpp"

namespace iterscope {

/// What Kineto's events do not say: for which opened region another thread works, and whose group
/// a collective is. Owned by the collector and by all work that may still run when it is gone.
///
/// It also keeps work that outlives a recording away from Kineto, which has freed the events that
/// such work would still write to, and reads them without a lock: two callbacks of ours run before
/// and after Kineto's, at each begin and end, and only between them, and only while the cycle is
/// not over, Kineto finds its recording. A gate does the same for reports of memory.
class KinetoSession {
public:
    static constexpr std::int64_t k_no_cycle = -1;

    /// Begins a stretch of recording; cycles have numbers of their own.
    void begin_cycle(std::int64_t cycle) noexcept { cycle_.store(cycle); }
    /// When it returns, no other thread is inside Kineto, and none gets there any more.
    void end_cycle() noexcept;

    /// False if the cycle is over. Otherwise it does not end before `leave`.
    bool try_enter(std::int64_t cycle) noexcept;
    void leave() noexcept { inside_.fetch_sub(1); }
    bool is_over(std::int64_t cycle) const noexcept { return cycle_.load() != cycle; }

    /// Work that began or ended after its stretch.
    void count_late(std::int64_t count) noexcept
    {
        late_.fetch_add(count, std::memory_order_relaxed);
    }
    std::int64_t late() const noexcept { return late_.load(std::memory_order_relaxed); }

    void note(RecordNote note)
    {
        const std::lock_guard lock(mutex_);
        notes_.push_back(std::move(note));
    }
    std::vector<RecordNote> take_notes()
    {
        const std::lock_guard lock(mutex_);
        return std::exchange(notes_, {});
    }

    /// To be registered as thread-local callbacks before and after Kineto's: PyTorch's thread
    /// state then carries them, with Kineto's, to the threads that work for this one.
    static at::RecordFunctionCallback first_callback();
    static at::RecordFunctionCallback last_callback();

private:
    std::atomic<std::int64_t> cycle_{k_no_cycle};
    std::atomic<std::int64_t> inside_{0};
    std::atomic<std::int64_t> late_{0};
    std::mutex mutex_;
    std::vector<RecordNote> notes_;
};

/// One stretch of recording, for whoever works for it. It keeps PyTorch's state of the recording
/// alive.
struct KinetoCycle {
    std::shared_ptr<KinetoSession> session;
    std::int64_t number;
    std::uint64_t thread;
    std::shared_ptr<c10::DebugInfoBase> state;
};

/// Stands before PyTorch's state of the recording: it takes reports of memory in, as long as the
/// cycle is not over. PyTorch's allocators cast what they find there to the profiler's base class.
std::shared_ptr<c10::DebugInfoBase> make_memory_gate(std::shared_ptr<KinetoCycle> cycle);

/// Travels with PyTorch's thread state to the threads that work for an opened region.
struct MarkInfo final : c10::DebugInfoBase {
    MarkInfo(std::shared_ptr<KinetoCycle> the_cycle, MarkId the_mark)
        : cycle(std::move(the_cycle)), mark(the_mark)
    {
    }

    std::shared_ptr<KinetoCycle> cycle;
    MarkId mark;
};

inline constexpr std::string_view k_mark_kind_name = "ITERSCOPE_MARK";
// Not constexpr: sanitizers make the check of the pointer one of the run time.
inline const c10::DebugInfoKind k_mark_kind{&k_mark_kind_name};

}  // namespace iterscope
