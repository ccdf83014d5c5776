#include <gtest/gtest.h>

#include "support/timeline_builder.hpp"

namespace iterscope {
namespace {

using test::TimelineBuilder;

constexpr RegionId k_a = 0;
constexpr RegionId k_b = 1;
constexpr const char* k_kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";

/// One all-reduce as torch.distributed leaves it: an operator, a record inside it, the backend's
/// asynchronous event, and a kernel.
void all_reduce(TimelineBuilder& t, std::int64_t start, std::int64_t kernel_start,
                std::int64_t kernel_end)
{
    t.op("c10d::allreduce_", start, start + 10);
    const auto record = t.op("record_param_comms", start + 1, start + 9);
    t.collective("nccl:all_reduce", "all_reduce", start + 2, start + 8, true);
    t.note(0, "tp");
    t.work(start + 4, record, kernel_start, kernel_end, k_kernel);
}

TEST(Communication, ACollectiveOnADeviceTakesTheTimeOfItsKernel)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    all_reduce(t, 20, 500, 700);
    t.work(60, t.op("aten::mul", 55, 65), 600, 650);
    const auto out = t.fill();
    ASSERT_EQ(out.table.collectives.size(), 1U);
    const Collective& collective = out.table.collectives[0];
    EXPECT_EQ(collective.name, "all_reduce");
    EXPECT_EQ(collective.group, "tp");
    EXPECT_EQ(collective.region, k_a);
    EXPECT_EQ(collective.duration_ns, 200);
    EXPECT_EQ(collective.start_unix_ns, 22);
    EXPECT_EQ(out.region(k_a).communication_ns, 200);
    EXPECT_EQ(out.region(k_a).device_ns, 200);  // its kernel is device work too
    EXPECT_EQ(out.direct_device_ns(k_a), 250);
    EXPECT_EQ(out.table.communication_inside_ns, 200);
    EXPECT_EQ(out.table.communication_outside_ns, 0);
}

TEST(Communication, OutsideEveryRegionIsSynchronisation)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 15);
    all_reduce(t, 20, 500, 700);
    all_reduce(t, 40, 650, 800);
    const auto out = t.fill();
    EXPECT_EQ(out.table.collectives.size(), 2U);
    EXPECT_EQ(out.table.collectives[0].region, k_no_region);
    EXPECT_EQ(out.table.communication_outside_ns, 300);
    EXPECT_EQ(out.table.communication_inside_ns, 0);
    EXPECT_EQ(out.region(k_a).communication_ns, 0);
}

TEST(Communication, OverlappingCollectivesAreNotAddedUp)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    all_reduce(t, 20, 500, 700);
    t.mark(k_b, 40, 90);
    all_reduce(t, 50, 600, 800);
    const auto out = t.fill();
    EXPECT_EQ(out.region(k_a).communication_ns, 300);
    EXPECT_EQ(out.region(k_b).communication_ns, 200);
    EXPECT_EQ(out.table.communication_inside_ns, 300);  // of outermost regions only
}

TEST(Communication, EachCollectiveGetsItsOwnKernel)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 200);
    for (std::int64_t i = 0; i < 3; ++i) {
        all_reduce(t, 20 + 20 * i, 500 + 100 * i, 510 + 100 * i + i);
    }
    const auto out = t.fill();
    ASSERT_EQ(out.table.collectives.size(), 3U);
    for (std::int64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(out.table.collectives[static_cast<std::size_t>(i)].duration_ns, 10 + i);
    }
}

TEST(Communication, AKernelThatNobodyAnnouncedCountsUnderItsOwnName)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.work(20, 0, 500, 600, k_kernel);
    const auto out = t.fill();
    ASSERT_EQ(out.table.collectives.size(), 1U);
    EXPECT_EQ(out.table.collectives[0].name, k_kernel);
    EXPECT_EQ(out.region(k_a).communication_ns, 100);
    EXPECT_EQ(out.direct(k_a, "(no operator)").device_ns, 100);
}

TEST(Communication, NamesOfUsersAreNeverCommunication)
{
    TimelineBuilder t;
    t.mark(k_a, 10, 100);
    t.label("nccl:all_reduce", 12, 90);
    const auto op = t.op("my nccl broadcast", 20, 30);
    t.work(25, op, 500, 600, "my_ncclDevKernel_");
    t.work(26, op, 500, 600, k_kernel, DeviceActivity::Kind::annotation);
    const auto out = t.fill();
    EXPECT_TRUE(out.table.collectives.empty());
    EXPECT_EQ(out.region(k_a).communication_ns, 0);
}

TEST(Communication, OnAHostTheEventsOwnTimeCounts)
{
    TimelineBuilder t;
    const MarkId mark = t.mark(k_a, 10, 100);
    t.collective("gloo:all_reduce", "all_reduce", 20, 220, false);
    t.collective("gloo:broadcast", "broadcast", 25, 125, false, TimelineBuilder::k_worker);
    t.note(mark, "0");
    t.collective("gloo:barrier", "barrier", 30, 0, false);  // had not ended
    const auto out = t.fill();
    ASSERT_EQ(out.table.collectives.size(), 2U);
    EXPECT_EQ(out.table.collectives[0].duration_ns, 200);
    EXPECT_EQ(out.table.collectives[1].name, "broadcast");
    EXPECT_EQ(out.table.collectives[1].region, k_a);
    EXPECT_EQ(out.region(k_a).communication_ns, 200);
    EXPECT_EQ(out.losses.unfinished, 1);
    EXPECT_EQ(out.full(k_a, "gloo:all_reduce").count, 1);
    EXPECT_EQ(out.direct(k_a, "gloo:all_reduce").count, 0);
}

TEST(Communication, AutogradsThreadsIssueForTheRegionThatCalledBackward)
{
    TimelineBuilder t;
    const MarkId backward = t.mark(k_b, 10, 100);
    const auto hook = t.worker_op("c10d::allreduce_", 20, 40, backward);
    t.collective("nccl:all_reduce", "all_reduce", 22, 38, true, TimelineBuilder::k_worker);
    t.work(30, hook, 500, 900, k_kernel, DeviceActivity::Kind::kernel, TimelineBuilder::k_worker);
    const auto out = t.fill();
    ASSERT_EQ(out.table.collectives.size(), 1U);
    EXPECT_EQ(out.table.collectives[0].region, k_b);
    EXPECT_EQ(out.region(k_b).communication_ns, 400);
}

}  // namespace
}  // namespace iterscope
