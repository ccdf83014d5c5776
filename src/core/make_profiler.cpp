#include <iterscope/error.hpp>
#include <iterscope/profiler.hpp>

#include "../backends/custom/custom_backend.hpp"
#include "../sinks/metrics_csv.hpp"
#include "../sinks/run_info.hpp"
#include "assemble.hpp"

namespace iterscope {

namespace {

std::unique_ptr<Backend> make_backend(const Options& options, const Services& services)
{
    switch (options.mode) {
        case Mode::null:
            return nullptr;
        case Mode::custom:
            return std::make_unique<CustomBackend>(services.clock, services.device);
        case Mode::torch:
            throw ConfigError(
                "mode torch is not known to the core (it reads PyTorch's operators); use "
                "iterscope::torch::make_profiler");
        case Mode::nvidia:
            break;
    }
    throw ConfigError("mode nvidia is not in iterscope " ITERSCOPE_VERSION
                      " (it records None, custom and torch); use one of these");
}

}  // namespace

std::unique_ptr<Profiler> assemble(Options options, std::unique_ptr<Backend> backend,
                                   std::vector<std::shared_ptr<Sink>> file_sinks, Services services)
{
    if (options.save_file && backend != nullptr) {
        file_sinks.insert(file_sinks.begin(), std::make_shared<RunInfo>());
        services.sinks.insert(services.sinks.begin(), file_sinks.begin(), file_sinks.end());
    }
    return std::make_unique<Profiler>(std::move(options), std::move(backend), std::move(services));
}

std::unique_ptr<Profiler> make_profiler(Options options, Services services)
{
    if (!services.clock) {
        services.clock = std::make_shared<SteadyClock>();
    }
    if (!services.device) {
        if (options.device != "cpu") {
            throw ConfigError("device '" + options.device +
                              "' is not known to the core (it only knows the cpu); use "
                              "iterscope::torch::make_profiler");
        }
        services.device = std::make_shared<CpuDevice>();
    }
    validate(options);
    std::unique_ptr<Backend> backend = make_backend(options, services);
    return assemble(std::move(options), std::move(backend), {std::make_shared<MetricsCsv>()},
                    std::move(services));
}

}  // namespace iterscope
