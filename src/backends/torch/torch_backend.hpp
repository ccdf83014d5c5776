#pragma once

#include <memory>
#include <vector>

#include <iterscope/backend.hpp>
#include <iterscope/clock.hpp>
#include <iterscope/device.hpp>
#include <iterscope/operator_table.hpp>

#include "operator_collector.hpp"

namespace iterscope {

/// The torch mode. With `per_step` every iteration has its table and its metrics; without, tables
/// add up over all recorded iterations and no region has metrics. Regions are timed on the opening
/// thread; the device is waited for when the window opens and at the end of each iteration, never
/// in a region.
class TorchBackend final : public Backend {
public:
    TorchBackend(std::shared_ptr<Clock> clock, std::shared_ptr<Device> device,
                 std::unique_ptr<OperatorCollector> collector, bool per_step,
                 bool wants_device_times = false);

    void check_start() override;
    void add_columns(ColumnTable& columns) override;
    void add_region(RegionId region, const std::string& name, ColumnTable& columns) override;
    void open_window() override;
    void begin_iteration(std::int64_t iteration, Frame& root) override;
    void enter(Frame& frame, Frame& parent) override;
    void leave(Frame& frame, Frame& parent) override;
    void discard(Frame& frame, Frame& parent) noexcept override;
    void settle() override;
    void collect(Frame& root, ColumnId peak_column, IterationRecord& record) override;
    void close_window() noexcept override;
    void summarize(RunSummary& summary) const override;

private:
    struct RegionSum {
        ColumnId cpu_column;
        ColumnId device_column;
        ColumnId communication_column;
        std::int64_t cpu_ns = 0;
        bool entered = false;
        bool broken = false;
    };

    std::shared_ptr<Clock> clock_;
    std::shared_ptr<Device> device_;
    /// Null on a CPU.
    Device* accelerator_;
    std::unique_ptr<OperatorCollector> collector_;
    std::vector<RegionSum> sums_;
    void collect_regions(const OperatorTable& table, IterationRecord& record) const;

    void check_device_times() noexcept;

    bool per_step_;
    bool wants_device_times_;
    OperatorTable table_;
    /// What sinks see: the iteration's table, or the sum so far.
    OperatorReport report_;
    ColumnId inside_column_ = 0;
    ColumnId outside_column_ = 0;
    std::int64_t partial_iterations_ = 0;
};

}  // namespace iterscope
