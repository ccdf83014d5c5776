#pragma once

#include <memory>
#include <string>
#include <vector>

#include <iterscope/recording_window.hpp>

#include "kineto_collector.hpp"
#include "operator_collector.hpp"
#include "trace_file.hpp"

namespace iterscope {

/// Collects a whole cycle of the window in one stretch, so that a trace shows its iterations side
/// by side, and writes the trace when the cycle ends. The table comes with the cycle's last
/// iteration; the others have an empty one.
class CycleCollector final : public OperatorCollector {
public:
    CycleCollector(c10::Device device, RecordingWindow window, std::shared_ptr<TraceFile> trace);

    void open() override { kineto_.open(); }
    void add_region(RegionId region, const std::string& name) override;
    void begin_iteration(std::int64_t iteration) override;
    void enter(RegionId region) override { kineto_.enter(region); }
    void leave(RegionId region) noexcept override { kineto_.leave(region); }
    void end_iteration(OperatorTable& table) override;
    void close() noexcept override;
    void finish(OperatorTable& rest) noexcept override;
    bool has_device_times() const noexcept override { return kineto_.has_device_times(); }
    std::int64_t late_events() const noexcept override { return kineto_.late_events(); }

private:
    void end_cycle(OperatorTable& table);

    KinetoCollector kineto_;
    RecordingWindow window_;
    std::shared_ptr<TraceFile> trace_;
    std::vector<std::string> region_names_;
    std::int64_t iteration_ = 0;
    bool is_in_cycle_ = false;
};

}  // namespace iterscope
