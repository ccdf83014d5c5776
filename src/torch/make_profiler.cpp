#include <iterscope/torch/make_profiler.hpp>

#include <ATen/Version.h>

#include <iostream>
#include <string_view>

#include <iterscope/error.hpp>

#include "backends/torch/cycle_collector.hpp"
#include "backends/torch/observer_collector.hpp"
#include "backends/torch/torch_backend.hpp"
#include "core/assemble.hpp"
#include "devices/accelerator_device.hpp"
#include "devices/find_device.hpp"
#include "sinks/communication_csv.hpp"
#include "sinks/operators_csv.hpp"

namespace iterscope::torch {

namespace {

/// A device that this machine lacks: named, and otherwise like the host.
class AbsentDevice final : public Device {
public:
    explicit AbsentDevice(std::string name) : name_(std::move(name)) {}
    std::string name() const override { return name_; }
    bool is_accelerator() const noexcept override { return false; }
    void synchronize() override {}
    std::int64_t peak_bytes() override { return 0; }
    void reset_peak_bytes() override {}

private:
    std::string name_;
};

std::string_view minor_of(std::string_view version)
{
    return version.substr(0, version.find('.', version.find('.') + 1));
}

void require_built_version()
{
    const std::string loaded = loaded_version();
    if (!loaded.empty() && minor_of(loaded) != minor_of(built_version())) {
        throw ConfigError("iterscope was built against PyTorch " + built_version() + ", PyTorch " +
                          loaded +
                          " is loaded (their binary layouts differ); rebuild iterscope against "
                          "the installed PyTorch");
    }
}

}  // namespace

std::shared_ptr<Device> make_device(const std::string& text,
                                    const std::function<void(const std::string&)>& warn)
{
    const auto [device, count] = find_device(text);
    if (device.is_cpu()) {
        return std::make_shared<CpuDevice>();
    }
    if (count == 0) {
        warn("there is no device '" + text +
             "' on this machine (PyTorch finds none of its type); its memory fields stay 0");
        return std::make_shared<AbsentDevice>(device.str());
    }
    return std::make_shared<AcceleratorDevice>(device);
}

namespace {

std::unique_ptr<OperatorCollector> make_collector(const Options& options, const Device& device,
                                                  const std::shared_ptr<TraceFile>& trace)
{
    const c10::Device target =
        device.is_accelerator() ? parse_device(options.device) : c10::Device(c10::kCPU);
    if (trace != nullptr) {
        return std::make_unique<CycleCollector>(target, window_of(options), trace);
    }
    const bool wants_events = options.collector == Collector::automatic && device.is_accelerator();
    if (wants_events || options.collector == Collector::kineto) {
        return std::make_unique<KinetoCollector>(target);
    }
    return std::make_unique<ObserverCollector>(target);
}

std::unique_ptr<Profiler> make_torch_profiler(Options options, Services services)
{
    validate(options);
    const auto trace = options.trace_dir ? std::make_shared<TraceFile>() : nullptr;
    auto backend = std::make_unique<TorchBackend>(
        services.clock, services.device, make_collector(options, *services.device, trace),
        options.per_step, !parse_device(options.device).is_cpu());
    std::vector<std::shared_ptr<Sink>> files;
    if (options.per_step) {
        files = {std::make_shared<OperatorsCsv>(), std::make_shared<CommunicationCsv>()};
    } else {
        files = {std::make_shared<AggregatedCsv>()};
    }
    if (trace != nullptr) {
        services.sinks.insert(services.sinks.begin(), trace);
    }
    return assemble(std::move(options), std::move(backend), std::move(files), std::move(services));
}

}  // namespace

std::unique_ptr<Profiler> make_profiler(Options options, Services services)
{
    require_built_version();
    if (!services.warn) {
        services.warn = [](const std::string& line) { std::cerr << "iterscope: " + line + "\n"; };
    }
    if (!services.device) {
        if (options.mode == Mode::null) {
            services.device = std::make_shared<CpuDevice>();
            parse_device(options.device);
        } else {
            services.device = make_device(options.device, services.warn);
        }
    }
    services.versions.emplace_back("torch", loaded_version());
    if (options.mode != Mode::torch) {
        return iterscope::make_profiler(std::move(options), std::move(services));
    }
    if (!services.clock) {
        services.clock = std::make_shared<SteadyClock>();
    }
    return make_torch_profiler(std::move(options), std::move(services));
}

std::string built_version() { return ITERSCOPE_TORCH_VERSION; }

std::string loaded_version()
{
    // The one place where libtorch says its version at run time.
    constexpr std::string_view k_key = "TORCH_VERSION=";
    static const std::string config = at::show_config();
    const std::size_t start = config.find(k_key);
    if (start == std::string::npos) {
        return {};
    }
    const std::size_t first = start + k_key.size();
    return config.substr(first, config.find_first_of(", \n", first) - first);
}

}  // namespace iterscope::torch
