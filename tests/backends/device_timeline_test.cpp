#include <gtest/gtest.h>

#include "support/timeline_builder.hpp"

namespace iterscope {
namespace {

using test::TimelineBuilder;
using Kind = DeviceActivity::Kind;

constexpr RegionId k_a = 0;
constexpr RegionId k_b = 1;

TEST(DeviceTimeline, AnOperatorHasTheWorkThatItAndItsCalleesLaunched)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    const auto linear = t.op("aten::linear", 20, 60);
    const auto addmm = t.op("aten::addmm", 25, 50);
    t.work(30, addmm, 200, 230);
    t.work(55, linear, 230, 240);
    const auto out = t.fill();
    EXPECT_EQ(
        out.direct(k_a, "aten::linear"),
        (OperatorStats{
            .count = 1, .cpu_ns = 40, .self_cpu_ns = 15, .device_ns = 40, .self_device_ns = 10}));
    EXPECT_EQ(out.direct(k_a, "aten::addmm"), OperatorStats{});
    EXPECT_EQ(
        out.full(k_a, "aten::addmm"),
        (OperatorStats{
            .count = 1, .cpu_ns = 25, .self_cpu_ns = 25, .device_ns = 30, .self_device_ns = 30}));
    EXPECT_EQ(out.region(k_a).device_ns, 40);
    EXPECT_EQ(out.self_device_ns(), 40);
}

TEST(DeviceTimeline, OverlappingStreamsAreCountedOnceInTheRegionAndFullyInTheRows)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    const auto first = t.op("first", 20, 30);
    const auto second = t.op("second", 30, 40);
    t.work(21, first, 200, 300);
    t.work(31, second, 250, 400);
    t.work(32, second, 260, 270);
    const auto out = t.fill();
    EXPECT_EQ(out.region(k_a).device_ns, 200);
    EXPECT_EQ(out.direct(k_a, "first").device_ns, 100);
    EXPECT_EQ(out.direct(k_a, "second").device_ns, 160);
    EXPECT_EQ(out.direct_device_ns(k_a), 260);
}

TEST(DeviceTimeline, CopiesAndFillsAreWork)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    const auto copy = t.op("aten::copy_", 20, 30);
    t.work(21, copy, 200, 220, "Memcpy HtoD", Kind::copy);
    t.work(22, copy, 220, 225, "Memset", Kind::fill);
    const auto out = t.fill();
    EXPECT_EQ(out.direct(k_a, "aten::copy_").device_ns, 25);
    EXPECT_EQ(out.region(k_a).device_ns, 25);
}

TEST(DeviceTimeline, DeviceSideCopiesOfLabelsAreNotWork)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.label("mine", 15, 90);
    const auto op = t.op("op", 20, 30);
    t.work(21, op, 200, 300);
    t.work(21, op, 200, 300, "mine", Kind::annotation);
    t.work(0, 0, 200, 300, "region", Kind::annotation);
    const auto out = t.fill();
    EXPECT_EQ(out.direct_device_ns(k_a), 100);
    EXPECT_EQ(out.self_device_ns(), 100);
    EXPECT_EQ(out.region(k_a).device_ns, 100);
    EXPECT_EQ(out.losses.unplaced, 0);
    EXPECT_EQ(out.full(k_a, "mine").device_ns, 100);  // a label is no caller:
    EXPECT_EQ(out.direct(k_a, "mine").count, 0);
    EXPECT_EQ(out.direct(k_a, "op").count, 1);
}

TEST(DeviceTimeline, WorkThatNoOperatorLaunchedHasARowOfItsOwn)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.label("compiled", 20, 60);
    t.work(30, 0, 200, 230);
    t.work(70, 0, 230, 231);
    t.work(200, 0, 300, 400);  // outside every region
    const auto out = t.fill();
    EXPECT_EQ(out.direct(k_a, "(no operator)"),
              (OperatorStats{.count = 2, .device_ns = 31, .self_device_ns = 31}));
    EXPECT_EQ(out.direct_device_ns(k_a), 31);
    EXPECT_EQ(out.region(k_a).device_ns, 31);
    EXPECT_EQ(out.self_device_ns(), 31);
}

TEST(DeviceTimeline, NestedRegionsAreInclusive)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.work(20, t.op("outer_op", 15, 25), 200, 210);
    t.mark(k_b, 30, 90);
    t.work(45, t.op("inner_op", 40, 50), 210, 230);
    const auto out = t.fill();
    EXPECT_EQ(out.region(k_a).device_ns, 30);
    EXPECT_EQ(out.region(k_b).device_ns, 20);
    EXPECT_EQ(out.direct_device_ns(k_a), 30);
    EXPECT_EQ(out.direct_device_ns(k_b), 20);
    EXPECT_EQ(out.full(k_a, "inner_op").count, 0);
    EXPECT_EQ(out.full(k_b, "inner_op").count, 1);
}

TEST(DeviceTimeline, ARegionInsideItselfCountsOnce)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.mark(k_a, 20, 90);
    t.memory(64, 45);
    const auto op = t.op("op", 40, 50);
    t.work(45, op, 200, 210);
    const auto out = t.fill();
    EXPECT_EQ(out.region(k_a).device_ns, 10);
    EXPECT_EQ(out.direct(k_a, "op").count, 1);
    EXPECT_EQ(out.direct(k_a, "op").device_ns, 10);
    EXPECT_EQ(out.direct(k_a, "op").memory_bytes, 64);
    EXPECT_EQ(out.table.regions.size(), 1U);
}

TEST(DeviceTimeline, ARegionOpenedInsideAnOperatorBelongsToThatOperator)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    const auto custom = t.op("MyFunction", 20, 80);
    t.mark(k_b, 30, 70);
    const auto mul = t.op("aten::mul", 40, 50);
    t.work(45, mul, 200, 220);
    t.work(60, custom, 220, 225);  // in the inner region, by no operator of it
    t.work(75, custom, 225, 226);
    const auto out = t.fill();
    EXPECT_EQ(out.direct(k_a, "MyFunction").device_ns, 26);
    EXPECT_EQ(out.direct(k_a, "aten::mul").count, 0);
    EXPECT_EQ(out.direct_device_ns(k_a), 26);
    EXPECT_EQ(out.direct(k_b, "aten::mul").device_ns, 20);
    EXPECT_EQ(out.direct(k_b, "(no operator)").device_ns, 5);
    EXPECT_EQ(out.direct_device_ns(k_b), 25);
    EXPECT_EQ(out.self_device_ns(), 26);
}

TEST(DeviceTimeline, WorkersAddToTheRegionThatTheyWorkFor)
{
    TimelineBuilder t;
    const MarkId backward = t.mark(k_b, 10, 100);
    t.mark(k_a, 100, 200);
    const auto node = t.worker_op("MulBackward0", 120, 150, backward);
    const auto mul = t.worker_op("aten::mul", 125, 140, backward);
    t.work(130, mul, 300, 330, "kernel", Kind::kernel, TimelineBuilder::k_worker);
    t.work(145, node, 330, 331, "kernel", Kind::kernel, TimelineBuilder::k_worker);
    t.work(160, 0, 331, 333, "kernel", Kind::kernel, TimelineBuilder::k_worker);
    t.memory(-8, 155, TimelineBuilder::k_worker);
    const auto out = t.fill();
    EXPECT_EQ(out.direct(k_b, "MulBackward0").device_ns, 31);
    EXPECT_EQ(out.direct(k_b, "aten::mul").count, 0);
    EXPECT_EQ(out.direct(k_b, "(no operator)").device_ns, 2);
    EXPECT_EQ(out.direct(k_b, "[memory]").memory_bytes, -8);
    EXPECT_EQ(out.direct_device_ns(k_b), 33);
    EXPECT_EQ(out.region(k_b).device_ns, 33);
    EXPECT_EQ(out.direct_device_ns(k_a), 0);
}

TEST(DeviceTimeline, WorkersOfARegionInsideAnOperatorAddToThatOperator)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.op("MyFunction", 20, 80);
    const MarkId inner = t.mark(k_b, 30, 70);
    const auto op = t.worker_op("aten::mul", 40, 50, inner);
    t.work(45, op, 200, 207, "kernel", Kind::kernel, TimelineBuilder::k_worker);
    const auto out = t.fill();
    EXPECT_EQ(out.direct(k_a, "MyFunction").device_ns, 7);
    EXPECT_EQ(out.direct_device_ns(k_a), 7);
    EXPECT_EQ(out.direct_device_ns(k_b), 7);
    EXPECT_EQ(out.self_device_ns(), 7);
}

TEST(DeviceTimeline, ThreadsThatWorkForNobodyAreOutside)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    const auto op = t.op("stranger", 20, 30, 7);
    t.work(25, op, 200, 210, "kernel", Kind::kernel, 7);
    t.work(25, 0, 210, 220, "kernel", Kind::kernel, 8);  // a thread without any operator
    const auto out = t.fill();
    EXPECT_TRUE(out.table.direct.empty());
    EXPECT_EQ(out.region(k_a).device_ns, 0);
    EXPECT_EQ(out.losses.unplaced, 0);
}

TEST(DeviceTimeline, TheDevicesClockDoesNotMatter)
{
    constexpr std::int64_t k_hour = 3'600'000'000'000;
    for (const std::int64_t shift : {-k_hour, std::int64_t{0}, k_hour}) {
        TimelineBuilder t;
        t.mark(k_a, 10, 100);
        t.work(25, t.op("op", 20, 30), shift + 200, shift + 210);
        t.mark(k_b, 200, 300);
        const auto out = t.fill();
        EXPECT_EQ(out.direct(k_a, "op").device_ns, 10);
        EXPECT_EQ(out.region(k_a).device_ns, 10);
        EXPECT_EQ(out.region(k_b).device_ns, 0);
    }
}

TEST(DeviceTimeline, TheNameOfTheCallerWinsOverTheTimeOfTheLaunch)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    const auto first = t.op("first", 20, 30);
    t.mark(k_b, 100, 200);
    t.op("second", 110, 120);
    t.work(115, first, 200, 210);  // the clock of the launches is 90 ns off
    const auto out = t.fill();
    EXPECT_EQ(out.direct(k_a, "first").device_ns, 10);
    EXPECT_EQ(out.direct(k_b, "second").device_ns, 0);
    EXPECT_EQ(out.direct_device_ns(k_b), 0);
}

TEST(DeviceTimeline, AMissingLaunchLeavesTheOperatorThatTheWorkNames)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    const auto op = t.op("op", 20, 30);
    t.work(25, op, 200, 210);
    t.timeline.launches.clear();
    const auto out = t.fill();
    EXPECT_EQ(out.direct(k_a, "op").device_ns, 10);
    EXPECT_EQ(out.losses.unplaced, 0);
}

TEST(DeviceTimeline, WorkWithoutAnyOriginIsReportedAndGuessedNowhere)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.op("op", 20, 30);
    t.timeline.device.push_back({Kind::kernel, "lost", 22, 28, 0, 0});
    t.timeline.device.push_back({Kind::kernel, "lost", 22, 28, 4711, 4712});
    const auto out = t.fill();
    EXPECT_EQ(out.losses.unplaced, 2);
    EXPECT_EQ(out.direct_device_ns(k_a), 0);
    EXPECT_EQ(out.region(k_a).device_ns, 0);
}

TEST(DeviceTimeline, ManyActivitiesMayShareOneLaunch)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.work(25, 0, 200, 210);  // a replayed graph
    DeviceActivity second = t.timeline.device.back();
    second.start_ns = 205;
    second.end_ns = 225;
    t.timeline.device.push_back(second);
    const auto out = t.fill();
    EXPECT_EQ(out.direct(k_a, "(no operator)").count, 2);
    EXPECT_EQ(out.direct_device_ns(k_a), 30);
    EXPECT_EQ(out.region(k_a).device_ns, 25);
}

TEST(DeviceTimeline, MemoryIsNetAndGoesToTheInnermostOperator)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.op("aten::rand", 20, 40);
    t.op("aten::empty", 22, 26);
    t.memory(4096, 24);
    t.memory(-96, 30);
    t.memory(-4000, 50);
    t.memory(7, 500);  // outside every region
    const auto out = t.fill();
    EXPECT_EQ(out.direct(k_a, "aten::rand").memory_bytes, 4000);
    EXPECT_EQ(out.direct(k_a, "aten::rand").self_memory_bytes, -96);
    EXPECT_EQ(out.full(k_a, "aten::empty").self_memory_bytes, 4096);
    EXPECT_EQ(out.direct(k_a, "[memory]"),
              (OperatorStats{.count = 1, .memory_bytes = -4000, .self_memory_bytes = -4000}));
}

TEST(DeviceTimeline, AnOnlyChildOfTheSameNameIsTheSameCall)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    const auto outer = t.op("aten::add", 20, 60);
    const auto inner = t.op("aten::add", 30, 50);
    t.memory(64, 35);
    t.work(40, inner, 200, 210);
    t.work(55, outer, 210, 213);
    const auto out = t.fill();
    const OperatorStats once{.count = 1,
                             .cpu_ns = 40,
                             .self_cpu_ns = 40,
                             .device_ns = 13,
                             .self_device_ns = 13,
                             .memory_bytes = 64,
                             .self_memory_bytes = 64};
    EXPECT_EQ(out.direct(k_a, "aten::add"), once);
    EXPECT_EQ(out.full(k_a, "aten::add"), once);
}

TEST(DeviceTimeline, TwoChildrenOfTheSameNameAreCallsOfTheirOwn)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.op("aten::add", 20, 60);
    t.op("aten::add", 30, 35);
    t.op("aten::add", 40, 45);
    const auto out = t.fill();
    EXPECT_EQ(out.full(k_a, "aten::add").count, 3);
    EXPECT_EQ(out.full(k_a, "aten::add").self_cpu_ns, 40);
    EXPECT_EQ(out.direct(k_a, "aten::add").count, 1);
}

TEST(DeviceTimeline, WhatHadNotEndedIsReportedAndStillEnclosesWhatDid)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.op("running", 20, 0);
    t.op("inside", 30, 40);
    const auto out = t.fill();
    EXPECT_EQ(out.losses.unfinished, 1);
    EXPECT_EQ(out.direct(k_a, "running").count, 0);
    EXPECT_EQ(out.direct(k_a, "inside").count, 0);
    EXPECT_EQ(out.full(k_a, "inside").count, 1);
}

TEST(DeviceTimeline, NeighboursThatTouchAreNotNested)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.op("first", 20, 30);
    t.op("second", 30, 40);
    const auto out = t.fill();
    EXPECT_EQ(out.direct(k_a, "second").count, 1);
    EXPECT_EQ(out.direct(k_a, "first").self_cpu_ns, 10);
}

TEST(DeviceTimeline, AnIterationIsNoRegion)
{
    TimelineBuilder t;
    t.mark(k_no_region, 5, 150);
    t.mark(k_a, 10, 100);
    t.op("op", 20, 30);
    t.mark(k_no_region, 150, 300);
    t.mark(k_a, 160, 200);
    t.op("op", 170, 180);
    const auto out = t.fill();
    EXPECT_EQ(out.direct(k_a, "op").count, 2);
    EXPECT_EQ(out.table.regions.size(), 1U);
}

}  // namespace
}  // namespace iterscope
