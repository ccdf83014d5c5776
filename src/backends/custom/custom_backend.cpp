#include "custom_backend.hpp"

#include <algorithm>

#include "peak_memory.hpp"
#include "region_cost.hpp"

namespace iterscope {

CustomBackend::CustomBackend(std::shared_ptr<Clock> clock, std::shared_ptr<Device> device)
    : clock_(std::move(clock)),
      device_(std::move(device)),
      accelerator_(device_->is_accelerator() ? device_.get() : nullptr)
{
}

void CustomBackend::add_region(RegionId /*region*/, const std::string& name, ColumnTable& columns)
{
    RegionSum sum{};
    sum.time_column = columns.add(name + "_time_sec");
    sum.peak_column = columns.add(name + "_max_gpu_mb");
    sums_.push_back(sum);
}

void CustomBackend::open_window()
{
    if (accelerator_ != nullptr) {
        accelerator_->synchronize();
    }
}

void CustomBackend::begin_iteration(std::int64_t /*iteration*/, Frame& root)
{
    for (RegionSum& sum : sums_) {
        sum.time_ns = 0;
        sum.peak_bytes = 0;
        sum.entered = false;
        sum.broken = false;
    }
    if (accelerator_ != nullptr) {
        begin_peak(*accelerator_, root);
    }
}

void CustomBackend::enter(Frame& frame, Frame& parent)
{
    if (accelerator_ != nullptr) {
        accelerator_->synchronize();
        enter_peak(*accelerator_, frame, parent);
    }
    frame.start_ns = clock_->now_ns();
}

void CustomBackend::leave(Frame& frame, Frame& parent)
{
    if (accelerator_ != nullptr) {
        accelerator_->synchronize();
    }
    const std::int64_t end_ns = clock_->now_ns();
    RegionSum& sum = sums_[frame.region];
    sum.entered = true;
    if (frame.outermost) {
        sum.time_ns += end_ns - frame.start_ns;
    }
    if (accelerator_ != nullptr) {
        leave_peak(*accelerator_, frame, parent);
        sum.peak_bytes = std::max(sum.peak_bytes, frame.peak_bytes);
    }
}

void CustomBackend::discard(Frame& frame, Frame& parent) noexcept
{
    parent.peak_bytes = std::max(parent.peak_bytes, frame.peak_bytes);
    sums_[frame.region].broken = true;
}

void CustomBackend::settle()
{
    if (accelerator_ != nullptr) {
        accelerator_->synchronize();
    }
}

void CustomBackend::collect(Frame& root, ColumnId peak_column, IterationRecord& record)
{
    if (accelerator_ != nullptr) {
        end_peak(*accelerator_, root);
    }
    record.metrics.push_back({peak_column, mebibytes(root.peak_bytes)});
    for (const RegionSum& sum : sums_) {
        if (sum.entered && !sum.broken) {
            record.metrics.push_back({sum.time_column, static_cast<double>(sum.time_ns) / 1e9});
            record.metrics.push_back({sum.peak_column, mebibytes(sum.peak_bytes)});
        }
    }
}

double CustomBackend::region_cost_sec() const { return measure_region_cost_sec(); }

}  // namespace iterscope
