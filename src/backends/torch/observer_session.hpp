#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <c10/util/ThreadLocalDebugInfo.h>

#include <iterscope/operator_table.hpp>
#include "operator_sums.hpp"

namespace iterscope {

/// Sums of a thread that works for the recording one (autograd's, c10d's, the user's own with
/// PyTorch's thread state carried over). It adds at the end of every operator, under the lock.
struct WorkerSums {
    std::mutex mutex;
    OperatorSums sums;
};

/// What is shared by the recording thread and all that work for it. Owned by the collector and by
/// everything that may still run when the collector is gone.
class ObserverSession {
public:
    static constexpr std::int64_t k_no_iteration = -1;

    struct OpenCollective {
        Collective collective;
        PlaceId place;
        std::int64_t start_ns;
        bool is_done = false;
    };

    /// The iteration that is recorded now. Work that ends under another one is late.
    std::int64_t iteration() const noexcept { return iteration_.load(std::memory_order_acquire); }
    void set_iteration(std::int64_t iteration) noexcept
    {
        iteration_.store(iteration, std::memory_order_release);
    }

    void count_late() noexcept { late_.fetch_add(1, std::memory_order_relaxed); }
    std::int64_t late() const noexcept { return late_.load(std::memory_order_relaxed); }

    std::shared_ptr<WorkerSums> add_worker()
    {
        auto worker = std::make_shared<WorkerSums>();
        const std::lock_guard lock(mutex_);
        workers_.push_back(worker);
        return worker;
    }
    /// Calls `take(entry)` for every sum of every worker, and forgets workers that have ended.
    template <class Take>
    void drain_workers(Take take)
    {
        const std::lock_guard lock(mutex_);
        for (const std::shared_ptr<WorkerSums>& worker : workers_) {
            const std::lock_guard worker_lock(worker->mutex);
            worker->sums.drain(take);
        }
        std::erase_if(workers_, [](const auto& worker) { return worker.use_count() == 1; });
    }

    /// After a drain, so that nothing is lost but what ended since, which is late anyway.
    void forget_names()
    {
        const std::lock_guard lock(mutex_);
        for (const std::shared_ptr<WorkerSums>& worker : workers_) {
            const std::lock_guard worker_lock(worker->mutex);
            worker->sums = OperatorSums();
        }
    }

    /// Notes that a collective was issued; returns its place in the order of issue.
    std::size_t begin_collective(OpenCollective collective)
    {
        const std::lock_guard lock(mutex_);
        collectives_.push_back(std::move(collective));
        return collectives_.size() - 1;
    }
    /// Ends it and calls `add_operator()`, so that both are in the same iteration or neither is.
    /// False if the iteration that issued it is over.
    template <class AddOperator>
    bool end_collective(std::size_t index, std::int64_t iteration, std::int64_t end_ns,
                        AddOperator add_operator)
    {
        {
            const std::lock_guard lock(mutex_);
            if (iteration != this->iteration() || index >= collectives_.size()) {
                return false;
            }
            OpenCollective& open = collectives_[index];
            open.collective.duration_ns = end_ns - open.start_ns;
            open.is_done = true;
            add_operator();
        }
        collective_ended_.notify_one();
        return true;
    }
    /// Waits until no collective is open, `patience` at the most. False if one still is.
    bool wait_for_collectives(std::chrono::microseconds patience)
    {
        std::unique_lock lock(mutex_);
        return collective_ended_.wait_for(lock, patience, [this] {
            return std::ranges::all_of(collectives_, &OpenCollective::is_done);
        });
    }
    std::vector<OpenCollective> take_collectives()
    {
        const std::lock_guard lock(mutex_);
        return std::exchange(collectives_, {});
    }

private:
    std::atomic<std::int64_t> iteration_{k_no_iteration};
    std::atomic<std::int64_t> late_{0};
    std::mutex mutex_;
    std::condition_variable collective_ended_;
    std::vector<std::shared_ptr<WorkerSums>> workers_;
    std::vector<OpenCollective> collectives_;
};

/// Travels with PyTorch's thread state to the threads that work for a region.
struct PlaceInfo final : c10::DebugInfoBase {
    PlaceInfo(std::shared_ptr<ObserverSession> the_session, PlaceId the_place,
              std::int64_t the_iteration)
        : session(std::move(the_session)), place(the_place), iteration(the_iteration)
    {
    }

    std::shared_ptr<ObserverSession> session;
    PlaceId place;
    std::int64_t iteration;
};

inline constexpr std::string_view k_place_kind_name = "ITERSCOPE_PLACE";
inline constexpr c10::DebugInfoKind k_place_kind{&k_place_kind_name};

}  // namespace iterscope
