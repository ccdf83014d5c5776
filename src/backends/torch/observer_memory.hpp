#pragma once

#include <torch/csrc/profiler/orchestration/observer.h>

#include <atomic>

#include "observer_thread.hpp"

namespace iterscope {

/// PyTorch's allocators report to whatever stands in the profiler's slot. They cast it to the
/// profiler's base class, so it has to be one.
class ObserverMemory final : public ::torch::profiler::impl::ProfilerStateBase {
public:
    /// Reports of other devices are ignored.
    explicit ObserverMemory(c10::Device device)
        : ProfilerStateBase(::torch::profiler::impl::ProfilerConfig(
              ::torch::profiler::impl::ProfilerState::CPU, false, true)),
          device_(device)
    {
    }

    /// From here on it is no profiler to anyone, wherever it may still stand.
    void switch_off() noexcept { is_on_.store(false, std::memory_order_relaxed); }

    ::torch::profiler::impl::ActiveProfilerType profilerType() override
    {
        using Type = ::torch::profiler::impl::ActiveProfilerType;
        return is_on() ? Type::LEGACY : Type::NONE;
    }
    bool memoryProfilingEnabled() const override { return is_on(); }
    void reportMemoryUsage(void* /*pointer*/, std::int64_t bytes, std::size_t /*allocated*/,
                           std::size_t /*reserved*/, c10::Device device) override
    {
        const bool is_ours = device.type() == device_.type() &&
                             (!device_.has_index() || device.index() == device_.index());
        if (is_ours && is_on()) {
            ObserverThread::current().add_memory(bytes);
        }
    }

private:
    bool is_on() const noexcept { return is_on_.load(std::memory_order_relaxed); }

    c10::Device device_;
    std::atomic<bool> is_on_{true};
};

}  // namespace iterscope
