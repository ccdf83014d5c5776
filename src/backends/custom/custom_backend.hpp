#pragma once

#include <memory>
#include <vector>

#include <iterscope/backend.hpp>
#include <iterscope/clock.hpp>
#include <iterscope/device.hpp>

namespace iterscope {

/// Wall clock around every region; on an accelerator the device is synchronised at both ends and
/// its peak of allocated bytes read. Synchronise, then read the clock, then the peak: the
/// profiler's own calls stay outside the interval that they close.
class CustomBackend final : public Backend {
public:
    CustomBackend(std::shared_ptr<Clock> clock, std::shared_ptr<Device> device);

    void add_region(RegionId region, const std::string& name, ColumnTable& columns) override;
    void open_window() override;
    void begin_iteration(std::int64_t iteration, Frame& root) override;
    void enter(Frame& frame, Frame& parent) override;
    void leave(Frame& frame, Frame& parent) override;
    void discard(Frame& frame, Frame& parent) noexcept override;
    void settle() override;
    void collect(Frame& root, ColumnId peak_column, IterationRecord& record) override;
    void close_window() noexcept override {}
    double region_cost_sec() const override;

private:
    struct RegionSum {
        ColumnId time_column;
        ColumnId peak_column;
        std::int64_t time_ns = 0;
        std::int64_t peak_bytes = 0;
        bool entered = false;
        bool broken = false;
    };

    std::shared_ptr<Clock> clock_;
    std::shared_ptr<Device> device_;
    /// Null on a CPU, so that a region there pays one branch for the device.
    Device* accelerator_;
    std::vector<RegionSum> sums_;
};

}  // namespace iterscope
