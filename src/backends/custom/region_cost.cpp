#include "region_cost.hpp"

#include <algorithm>
#include <limits>

#include <iterscope/profiler.hpp>

#include "custom_backend.hpp"

namespace iterscope {

double measure_region_cost_sec()
{
    constexpr int k_batches = 5;
    constexpr int k_regions = 1000;
    const auto clock = std::make_shared<SteadyClock>();
    Services quiet;
    quiet.clock = clock;
    quiet.warn = [](const std::string&) {};
    quiet.environment = [](const char*) -> const char* { return nullptr; };
    Profiler profiler({}, std::make_unique<CustomBackend>(clock, std::make_shared<CpuDevice>()),
                      std::move(quiet));
    const Region region = profiler.region("region");
    profiler.start();
    std::int64_t best_ns = std::numeric_limits<std::int64_t>::max();
    for (int batch = 0; batch < k_batches; ++batch) {
        const std::int64_t start_ns = clock->now_ns();
        for (int i = 0; i < k_regions; ++i) {
            const ScopedRegion open = region.enter();
        }
        best_ns = std::min(best_ns, clock->now_ns() - start_ns);
        profiler.end_iteration();
    }
    return static_cast<double>(best_ns) / k_regions / 1e9;
}

}  // namespace iterscope
