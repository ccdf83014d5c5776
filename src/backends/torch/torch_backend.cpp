#include "torch_backend.hpp"

#include <algorithm>
#include <cmath>

#include <iterscope/sink.hpp>

#include "../../core/units.hpp"
#include "../custom/peak_memory.hpp"

namespace iterscope {

TorchBackend::TorchBackend(std::shared_ptr<Clock> clock, std::shared_ptr<Device> device,
                           std::unique_ptr<OperatorCollector> collector, bool per_step,
                           bool wants_device_times)
    : clock_(std::move(clock)),
      device_(std::move(device)),
      accelerator_(device_->is_accelerator() ? device_.get() : nullptr),
      collector_(std::move(collector)),
      per_step_(per_step),
      wants_device_times_(wants_device_times)
{
}

void TorchBackend::check_start()
{
    collector_->open();
    partial_iterations_ = 0;
    report_.table.clear();
}

void TorchBackend::add_columns(ColumnTable& columns)
{
    if (per_step_) {
        inside_column_ = columns.add("comm_cuda_sec");
        outside_column_ = columns.add("comm_sync_sec");
    }
}

void TorchBackend::add_region(RegionId region, const std::string& name, ColumnTable& columns)
{
    RegionSum sum{};
    sum.cpu_column = columns.add(name + "_cpu_sec");
    sum.device_column = columns.add(name + "_cuda_sec");
    sum.communication_column = columns.add(name + "_comm_sec");
    sums_.push_back(sum);
    report_.region_names.push_back(name);
    collector_->add_region(region, name);
}

void TorchBackend::open_window() { settle(); }

void TorchBackend::settle()
{
    if (accelerator_ != nullptr) {
        accelerator_->synchronize();
    }
}

void TorchBackend::begin_iteration(std::int64_t iteration, Frame& root)
{
    for (RegionSum& sum : sums_) {
        sum.cpu_ns = 0;
        sum.entered = false;
        sum.broken = false;
    }
    if (accelerator_ != nullptr) {
        begin_peak(*accelerator_, root);
    }
    collector_->begin_iteration(iteration);
}

void TorchBackend::enter(Frame& frame, Frame& /*parent*/)
{
    collector_->enter(frame.region);
    frame.start_ns = clock_->now_ns();
}

void TorchBackend::leave(Frame& frame, Frame& /*parent*/)
{
    const std::int64_t end_ns = clock_->now_ns();
    collector_->leave(frame.region);
    RegionSum& sum = sums_[frame.region];
    sum.entered = true;
    if (frame.outermost) {
        sum.cpu_ns += end_ns - frame.start_ns;
    }
}

void TorchBackend::discard(Frame& frame, Frame& /*parent*/) noexcept
{
    collector_->leave(frame.region);
    sums_[frame.region].broken = true;
}

void TorchBackend::collect(Frame& root, ColumnId peak_column, IterationRecord& record)
{
    if (accelerator_ != nullptr) {
        end_peak(*accelerator_, root);
    }
    record.metrics.push_back({peak_column, mebibytes(root.peak_bytes)});
    record.operators = &report_;
    collector_->end_iteration(table_);
    partial_iterations_ += table_.is_partial ? 1 : 0;
    check_device_times();
    if (per_step_) {
        std::swap(report_.table, table_);
        collect_regions(report_.table, record);
    } else {
        report_.table.add_operators(table_);
    }
}

void TorchBackend::check_device_times() noexcept
{
    report_.has_device_times =
        !wants_device_times_ || (accelerator_ != nullptr && collector_->has_device_times());
}

void TorchBackend::collect_regions(const OperatorTable& table, IterationRecord& record) const
{
    record.metrics.push_back({inside_column_, seconds(table.communication_inside_ns)});
    record.metrics.push_back({outside_column_, seconds(table.communication_outside_ns)});
    for (RegionId region = 0; region < sums_.size(); ++region) {
        const RegionSum& sum = sums_[region];
        if (!sum.entered || sum.broken) {
            continue;
        }
        const auto activity = std::ranges::find(table.regions, region, &RegionActivity::region);
        const bool has_activity = activity != table.regions.end();
        record.metrics.push_back({sum.cpu_column, seconds(sum.cpu_ns)});
        const double device = has_activity ? seconds(activity->device_ns) : 0;
        record.metrics.push_back(
            {sum.device_column, report_.has_device_times ? device : std::nan("")});
        record.metrics.push_back(
            {sum.communication_column, has_activity ? seconds(activity->communication_ns) : 0});
    }
}

void TorchBackend::close_window() noexcept
{
    collector_->finish(table_);
    if (!per_step_) {
        report_.table.add_operators(table_);
        check_device_times();
    }
}

void TorchBackend::summarize(RunSummary& summary) const
{
    summary.late_events = collector_->late_events();
    summary.partial_iterations = partial_iterations_;
    summary.lacks_device_times = !report_.has_device_times;
}

}  // namespace iterscope
