#pragma once

#include <cstdint>
#include <string>

#include <iterscope/iteration_record.hpp>

namespace iterscope {

struct RunSummary;

/// Dense, 0-based number of a region's name within one profiler.
using RegionId = std::uint32_t;

/// One open region, or the iteration itself at the bottom of the stack. The profiler keeps the
/// stack; the last two fields are the backend's.
struct Frame {
    RegionId region = 0;
    /// No other frame of the same region is open below this one.
    bool outermost = true;
    /// Closed out of order; its numbers are dropped when the stack unwinds.
    bool abandoned = false;
    std::int64_t start_ns = 0;
    std::int64_t peak_bytes = 0;
};

/// How one mode measures. The profiler calls it inside the window only, on one thread, in order:
/// `open_window (begin_iteration (enter | leave | discard)* settle collect)* close_window`; a
/// run that ends in an iteration skips the rest of it. The null mode is the absence of a backend.
class Backend {
public:
    virtual ~Backend() = default;

    /// Throws UsageError if a run cannot start now; nothing has been made for it yet.
    virtual void check_start() {}
    /// Declares the mode's own columns, beside those that every mode has.
    virtual void add_columns(ColumnTable& /*columns*/) {}
    /// Makes room for a region; ids come dense and ascending. Called in or out of the window.
    virtual void add_region(RegionId region, const std::string& name, ColumnTable& columns) = 0;

    /// Waits for the work queued in the warm-up.
    virtual void open_window() = 0;
    virtual void begin_iteration(std::int64_t iteration, Frame& root) = 0;

    virtual void enter(Frame& frame, Frame& parent) = 0;
    virtual void leave(Frame& frame, Frame& parent) = 0;
    /// Drops the region's numbers in this iteration.
    virtual void discard(Frame& frame, Frame& parent) noexcept = 0;

    /// Waits for the work of the iteration, before its clock is read.
    virtual void settle() = 0;
    /// Appends the iteration's metrics, `max_gpu_mb` first, regions in the order of their ids.
    virtual void collect(Frame& root, ColumnId peak_column, IterationRecord& record) = 0;

    virtual void close_window() noexcept = 0;

    /// Adds what only this mode knows of the run that ended.
    virtual void summarize(RunSummary& /*summary*/) const {}
    /// Seconds that one empty region costs the host on this machine, measured when asked; 0 where
    /// the mode does not know.
    virtual double region_cost_sec() const { return 0; }
};

}  // namespace iterscope
