#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <ATen/record_function.h>
#include <c10/core/Device.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include "kineto_session.hpp"
#include "operator_collector.hpp"

namespace iterscope {

/// Reads operators and device work from the events of PyTorch's Kineto profiler. Events are stored
/// until a stretch ends, so stretches should be short: without a trace, one an iteration.
///
/// A stretch may span iterations: `begin_iteration` opens it, `next_iteration` marks the others,
/// `end_iteration` ends it.
class KinetoCollector final : public OperatorCollector {
public:
    using Result = ::torch::autograd::profiler::ProfilerResult;

    /// Device time is that of `device`'s kind, memory that of `device`. `keeps_result`: what a
    /// trace is written from stays until `take_result`.
    explicit KinetoCollector(c10::Device device, bool keeps_result = false);
    ~KinetoCollector() override;
    KinetoCollector(const KinetoCollector&) = delete;
    KinetoCollector& operator=(const KinetoCollector&) = delete;

    void open() override;
    void begin_iteration(std::int64_t iteration) override;
    /// No region may be open.
    void next_iteration(std::int64_t iteration);
    void enter(RegionId region) override;
    void leave(RegionId region) noexcept override;
    void end_iteration(OperatorTable& table) override;
    void close() noexcept override;
    bool has_device_times() const noexcept override { return device_.is_cpu() || has_seen_device_; }
    std::int64_t late_events() const noexcept override { return session_->late(); }

    /// The events of the stretch that ended last, once; null if there are none.
    std::unique_ptr<Result> take_result() noexcept { return std::move(result_); }
    /// Some device has done something in a stretch: its times can be trusted.
    bool has_seen_device() const noexcept { return has_seen_device_; }

private:
    using Place = std::shared_ptr<c10::ThreadLocalDebugInfo>;

    /// A region with its place on this thread's stack of debug information.
    struct OpenMark {
        RegionId region;
        Place place;
    };

    bool start() noexcept;
    void push_mark(RegionId region, const std::string& name);
    bool pop_mark() noexcept;
    std::unique_ptr<Result> stop() noexcept;
    void abandon() noexcept;
    static std::unique_ptr<Result> unwind(std::vector<Place>& places) noexcept;
    void reclaim() noexcept;
    const std::string& region_label(RegionId region);

    c10::Device device_;
    bool keeps_result_;
    std::shared_ptr<KinetoSession> session_;
    std::int64_t cycle_ = 0;

    bool is_on_ = false;
    bool is_partial_ = false;
    std::uint64_t first_callback_ = 0;
    std::uint64_t last_callback_ = 0;
    std::shared_ptr<KinetoCycle> recording_;
    /// What is ours on that stack, from the bottom up: PyTorch's state of our recording and the
    /// gate before it (regions are in `open_`).
    std::vector<Place> places_;
    /// The same with the open regions, after somebody has put something on top: it goes when it is
    /// on top again.
    std::vector<Place> abandoned_;

    /// By MarkId.
    std::vector<RegionId> marks_;
    std::vector<OpenMark> open_;
    /// Of the open marks; they cannot be moved.
    std::deque<at::RecordFunction> functions_;
    /// By RegionId.
    std::vector<std::string> labels_;
    /// Regions entered in this stretch, each once.
    std::vector<RegionId> entered_;
    std::unique_ptr<Result> result_;
    bool has_seen_device_ = false;
};

}  // namespace iterscope
