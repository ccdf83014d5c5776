// Cost of a region and of an iteration in C++, beside the clock reads that they cannot do without.

#include <benchmark/benchmark.h>

#include <chrono>

#include <iterscope/profiler.hpp>

namespace {

using iterscope::Mode;
using iterscope::Options;
using iterscope::Profiler;

std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

std::unique_ptr<Profiler> started(Options options)
{
    iterscope::Services quiet;
    quiet.warn = [](const std::string&) {};
    quiet.inform = [](const std::string&) {};
    auto profiler = iterscope::make_profiler(std::move(options), std::move(quiet));
    profiler->start();
    return profiler;
}

Options mode(Mode wanted)
{
    Options options;
    options.mode = wanted;
    return options;
}

void one_clock_read(benchmark::State& state)
{
    for (auto _ : state) {
        benchmark::DoNotOptimize(now());
    }
}

void two_clock_reads(benchmark::State& state)
{
    for (auto _ : state) {
        benchmark::DoNotOptimize(now());
        benchmark::DoNotOptimize(now());
    }
}

void measure_region(benchmark::State& state, Profiler& profiler)
{
    const iterscope::Region region = profiler.region("region");
    for (auto _ : state) {
        const auto open = region.enter();
        benchmark::ClobberMemory();
    }
}

void region_custom(benchmark::State& state) { measure_region(state, *started(mode(Mode::custom))); }

void region_custom_by_name(benchmark::State& state)
{
    const auto profiler = started(mode(Mode::custom));
    for (auto _ : state) {
        const auto open = profiler->track_step("region");
        benchmark::ClobberMemory();
    }
}

void region_null(benchmark::State& state) { measure_region(state, *started(mode(Mode::null))); }

void region_in_warmup(benchmark::State& state)
{
    Options options = mode(Mode::custom);
    options.warmup = 1;
    measure_region(state, *started(options));
}

void region_after_window(benchmark::State& state)
{
    Options options = mode(Mode::custom);
    options.active = 1;
    const auto profiler = started(options);
    profiler->end_iteration();
    measure_region(state, *profiler);
}

void measure_iteration(benchmark::State& state, const Options& options)
{
    const auto profiler = started(options);
    const iterscope::Region gradient = profiler->region("gradient");
    const iterscope::Region denoise = profiler->region("denoise");
    for (auto _ : state) {
        {
            const auto open = gradient.enter();
        }
        {
            const auto open = denoise.enter();
        }
        profiler->end_iteration();
    }
}

void iteration_null(benchmark::State& state) { measure_iteration(state, mode(Mode::null)); }
void iteration_custom(benchmark::State& state) { measure_iteration(state, mode(Mode::custom)); }

void iteration_custom_with_csv(benchmark::State& state)
{
    Options options = mode(Mode::custom);
    options.save_file = true;
    measure_iteration(state, options);
}

BENCHMARK(one_clock_read);
BENCHMARK(two_clock_reads);
BENCHMARK(region_custom);
BENCHMARK(region_custom_by_name);
BENCHMARK(region_null);
BENCHMARK(region_in_warmup);
BENCHMARK(region_after_window);
BENCHMARK(iteration_null);
BENCHMARK(iteration_custom);
BENCHMARK(iteration_custom_with_csv);

}  // namespace

BENCHMARK_MAIN();
