#pragma once

#include <ATen/record_function.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "observer_session.hpp"

namespace iterscope {

/// One thing that is open on a thread: an operator, an annotation (`record_function`), or, on the
/// recording thread only, a region (at the bottom: the iteration).
struct ObservedFrame {
    enum class Kind : std::uint8_t { operation, annotation, region };

    Kind kind;
    /// An operator is open below, above the innermost region.
    bool under_operator;
    bool has_twin_child = false;
    PlaceId place;
    std::uint32_t children = 0;
    std::int64_t iteration;
    std::int64_t start_ns;
    const char* name;
    std::int64_t child_ns = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t child_memory_bytes = 0;
    /// Of the last child of the same name.
    std::int64_t twin_ns = 0;
    std::int64_t twin_self_ns = 0;
    std::int64_t twin_memory_bytes = 0;
    std::int64_t twin_self_memory_bytes = 0;
    std::uint64_t annotation = 0;
};

/// The stack of one thread, and where its sums go.
class ObserverThread {
public:
    /// That of the calling thread.
    static ObserverThread& current();

    /// The recording thread adds to its own sums without a lock.
    void record_into(OperatorSums* sums, std::shared_ptr<ObserverSession> session);
    void stop_recording();
    bool is_recording() const noexcept { return own_sums_ != nullptr; }

    void push_region(PlaceId place, std::int64_t iteration);
    /// False if the top of the stack is no region: something inside has not ended.
    bool pop_region();
    /// The place of the innermost open region, and whether an operator runs inside it.
    PlaceId place() const noexcept { return frames_.empty() ? 0 : frames_.back().place; }
    bool is_under_operator() const noexcept;
    /// Drops what is open: the iteration was cut short.
    void clear_frames() noexcept { frames_.clear(); }

    void begin_operation(const at::RecordFunction& function);
    void end_operation();
    std::unique_ptr<at::ObserverContext> begin_scope(const at::RecordFunction& function);
    void end_scope(const at::RecordFunction& function, at::ObserverContext& context);
    void add_memory(std::int64_t bytes);

    static at::RecordFunctionCallback callback();

private:
    struct Origin {
        PlaceId place;
        std::int64_t iteration;
    };

    Origin origin();
    bool attach(const std::shared_ptr<ObserverSession>& session);
    /// `direct` is null where no region called it itself.
    void add(const ObservedFrame& frame, const char* name, const OperatorStats& stats,
             const OperatorStats* direct);
    std::optional<ObservedFrame> take_annotation(std::uint64_t annotation);
    void close(const ObservedFrame& frame, const char* name, std::int64_t end_ns);

    std::vector<ObservedFrame> frames_;
    std::shared_ptr<ObserverSession> session_;
    OperatorSums* own_sums_ = nullptr;
    /// Where a worker adds; on the recording thread, what ends asynchronously.
    std::shared_ptr<WorkerSums> worker_;
    std::uint64_t next_annotation_ = 1;
};

}  // namespace iterscope
