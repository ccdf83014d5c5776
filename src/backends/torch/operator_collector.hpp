#pragma once

#include <cstdint>
#include <string>

#include <iterscope/operator_table.hpp>

namespace iterscope {

/// Collects the operators of regions from PyTorch's own instrumentation. All calls come from the
/// recording thread; work that other threads do for a region is collected with it.
class OperatorCollector {
public:
    virtual ~OperatorCollector() = default;

    /// Throws UsageError when a profiler of the user's is on.
    virtual void open() = 0;
    virtual void add_region(RegionId /*region*/, const std::string& /*name*/) {}
    virtual void begin_iteration(std::int64_t iteration) = 0;
    virtual void enter(RegionId region) = 0;
    /// Never throws: what cannot be closed ends the collection of this iteration.
    virtual void leave(RegionId region) noexcept = 0;
    /// Fills `table` with what began and ended in this iteration.
    virtual void end_iteration(OperatorTable& table) = 0;
    /// Nothing of the collector stays registered.
    virtual void close() noexcept = 0;
    /// The same at the end of a window; `rest` is what no table has told yet.
    virtual void finish(OperatorTable& rest) noexcept
    {
        rest.clear();
        close();
    }

    /// Device times can be trusted; always so for the host, which has none.
    virtual bool has_device_times() const noexcept { return true; }
    /// Work that ended after its iteration was written.
    virtual std::int64_t late_events() const noexcept = 0;
};

}  // namespace iterscope
