#include <gtest/gtest.h>

#include "support/fakes.hpp"

namespace iterscope {
namespace {

using test::Bench;
using test::Calls;

TEST(CustomBackend, SynchronisesThenReadsTheClockThenTheMemory)
{
    Bench bench({}, true);
    bench.profiler->start();
    EXPECT_EQ(*bench.calls, (Calls{"sync", "reset", "clock"}));

    bench.calls->clear();
    bench.spend("a", 1);
    EXPECT_EQ(*bench.calls, (Calls{"sync", "peak", "reset", "clock",  // enter
                                   "sync", "clock", "peak"}));        // leave

    bench.calls->clear();
    bench.profiler->end_iteration();
    EXPECT_EQ(*bench.calls, (Calls{"sync", "clock", "peak",  // this iteration
                                   "reset", "clock"}));      // the next
}

TEST(CustomBackend, NestedRegionsKeepTheOrder)
{
    Bench bench({}, true);
    bench.profiler->start();
    bench.calls->clear();
    {
        const ScopedRegion outer = bench.profiler->track_step("outer");
        const ScopedRegion inner = bench.profiler->track_step("inner");
    }
    EXPECT_EQ(*bench.calls, (Calls{"sync", "peak", "reset", "clock", "sync", "peak", "reset",
                                   "clock", "sync", "clock", "peak", "sync", "clock", "peak"}));
}

TEST(CustomBackend, TouchesTheDeviceInsideTheWindowOnly)
{
    Options options;
    options.warmup = 2;
    options.active = 1;
    Bench bench(options, true);
    bench.profiler->start();
    bench.spend("a", 1);
    bench.profiler->end_iteration();
    EXPECT_TRUE(bench.calls->empty());
    bench.profiler->end_iteration();
    EXPECT_EQ(*bench.calls, (Calls{"sync", "reset", "clock"}));  // the window opens
    bench.profiler->end_iteration();
    bench.calls->clear();
    bench.spend("a", 1);
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    EXPECT_TRUE(bench.calls->empty());
}

TEST(CustomBackend, CountsSynchronisations)
{
    Bench bench({}, true);
    bench.profiler->start();
    for (int i = 0; i < 10; ++i) {
        bench.spend("a", 1);
    }
    bench.profiler->end_iteration();
    EXPECT_EQ(std::ranges::count(*bench.calls, "sync"), 1 + 2 * 10 + 1);
}

TEST(CustomBackend, AsksNothingOfACpu)
{
    Bench bench;
    bench.profiler->start();
    bench.spend("a", 1);
    bench.profiler->end_iteration();
    EXPECT_EQ(std::ranges::count(*bench.calls, "sync"), 0);
    EXPECT_EQ(bench.metric("max_gpu_mb"), 0);
    EXPECT_EQ(bench.metric("a_max_gpu_mb"), 0);
}

TEST(CustomBackend, EveryRegionHasItsOwnPeak)
{
    Bench bench({}, true);
    bench.profiler->start();
    {
        const ScopedRegion first = bench.profiler->track_step("first");
        bench.device->allocate_mb(1024);
        bench.device->release_mb(1024);
    }
    {
        const ScopedRegion second = bench.profiler->track_step("second");
        bench.device->allocate_mb(512);
        bench.device->release_mb(256);
    }
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("first_max_gpu_mb"), 1024);
    EXPECT_EQ(bench.metric("second_max_gpu_mb"), 512);
    EXPECT_EQ(bench.metric("max_gpu_mb"), 1024);
}

TEST(CustomBackend, PeaksNest)
{
    Bench bench({}, true);
    bench.profiler->start();
    {
        const ScopedRegion outer = bench.profiler->track_step("outer");
        {
            const ScopedRegion inner = bench.profiler->track_step("inner1");
            bench.device->allocate_mb(512);
            bench.device->release_mb(512);
        }
        {
            const ScopedRegion inner = bench.profiler->track_step("inner2");
            bench.device->allocate_mb(128);
            bench.device->release_mb(128);
        }
    }
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("inner1_max_gpu_mb"), 512);
    EXPECT_EQ(bench.metric("inner2_max_gpu_mb"), 128);
    EXPECT_EQ(bench.metric("outer_max_gpu_mb"), 512);
    EXPECT_EQ(bench.metric("max_gpu_mb"), 512);
}

TEST(CustomBackend, ThePeakBeforeAnInnerRegionBelongsToTheOuterOne)
{
    Bench bench({}, true);
    bench.profiler->start();
    {
        const ScopedRegion outer = bench.profiler->track_step("outer");
        bench.device->allocate_mb(300);
        bench.device->release_mb(300);
        const ScopedRegion inner = bench.profiler->track_step("inner");
        bench.device->allocate_mb(100);
        bench.device->release_mb(100);
    }
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("inner_max_gpu_mb"), 100);
    EXPECT_EQ(bench.metric("outer_max_gpu_mb"), 300);
}

TEST(CustomBackend, TheIterationPeakCoversWorkOutsideRegions)
{
    Bench bench({}, true);
    bench.profiler->start();
    bench.device->allocate_mb(700);
    bench.device->release_mb(700);
    bench.spend("a", 1);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("max_gpu_mb"), 700);
    EXPECT_EQ(bench.metric("a_max_gpu_mb"), 0);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("max_gpu_mb"), 0);  // the next iteration starts from what is allocated
}

TEST(CustomBackend, ARecursivePeakBelongsToTheRegion)
{
    Bench bench({}, true);
    bench.profiler->start();
    {
        const ScopedRegion outer = bench.profiler->track_step("f");
        const ScopedRegion inner = bench.profiler->track_step("f");
        bench.device->allocate_mb(64);
        bench.device->release_mb(64);
    }
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("f_max_gpu_mb"), 64);
}

TEST(CustomBackend, ABrokenRegionStillHandsItsPeakDown)
{
    Bench bench({}, true);
    bench.profiler->start();
    const RegionId a = bench.profiler->intern("a");
    const RegionId b = bench.profiler->intern("b");
    bench.profiler->enter(a);
    bench.device->allocate_mb(96);
    bench.device->release_mb(96);
    bench.profiler->enter(b);
    EXPECT_THROW(bench.profiler->leave(a), UsageError);
    bench.profiler->leave(b);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("a_max_gpu_mb"), -1);
    EXPECT_EQ(bench.metric("max_gpu_mb"), 96);
}

TEST(CustomBackend, ADeviceThatFailsRaisesAndTheRegionIsNotOpen)
{
    Bench bench({}, true);
    bench.profiler->start();
    bench.device->fails = true;
    EXPECT_THROW(bench.profiler->track_step("a"), DeviceError);
    EXPECT_THROW(bench.profiler->end_iteration(), DeviceError);
    bench.device->fails = false;
    EXPECT_EQ(bench.profiler->iteration(), 0);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.sink->rows.size(), 1U);
}

TEST(CustomBackend, AFailureAtAnExitLeavesNoNumberForTheRegion)
{
    Bench bench({}, true);
    bench.profiler->start();
    bench.spend("a", 10);
    const RegionId a = bench.profiler->intern("a");
    bench.profiler->enter(a);
    bench.clock->advance_ms(50);
    bench.device->fails = true;
    EXPECT_THROW(bench.profiler->leave(a), DeviceError);
    bench.device->fails = false;
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("a_time_sec"), -1);
    EXPECT_EQ(bench.metric("total_time_sec"), 0.06);
}

TEST(CustomBackend, AFailureBetweenIterationsDoesNotMoveTheClock)
{
    Bench bench({}, true);
    bench.profiler->start();
    bench.clock->advance_ms(10);
    bench.device->fails_reset = true;
    EXPECT_THROW(bench.profiler->end_iteration(), DeviceError);
    EXPECT_EQ(bench.sink->rows.size(), 1U);
    bench.device->fails_reset = false;
    bench.clock->advance_ms(10);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("total_time_sec"), 0.01);
}

TEST(CustomBackend, StartIterationsWaitsForTheSetUp)
{
    Bench bench({}, true);
    bench.profiler->start();
    bench.calls->clear();
    bench.profiler->start_iterations();
    EXPECT_EQ(*bench.calls, (Calls{"sync", "reset", "clock"}));
}

TEST(CustomBackend, KnowsItsOwnCost)
{
    const auto sink = std::make_shared<test::MemorySink>();
    Services services;
    services.sinks = {sink};
    const auto profiler = make_profiler({}, services);
    profiler->start();
    {
        const ScopedRegion a = profiler->track_step("a");
    }
    profiler->end_iteration();
    profiler->finalize();
    EXPECT_EQ(sink->last_summary.region_count, 1);
    EXPECT_GT(sink->last_summary.region_cost_sec, 1e-9);
    EXPECT_LT(sink->last_summary.region_cost_sec, 1e-4);
    EXPECT_GT(sink->last_summary.profiler_time_sec, 0);
}

}  // namespace
}  // namespace iterscope
