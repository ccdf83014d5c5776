#include "backends/timeline/intervals.hpp"

#include <gtest/gtest.h>

namespace iterscope {
namespace {

std::int64_t covered(std::vector<Interval> intervals) { return covered_ns(intervals); }

TEST(Intervals, NothingCoversNothing)
{
    EXPECT_EQ(covered({}), 0);
    EXPECT_EQ(covered({{5, 5}}), 0);
}

TEST(Intervals, DisjointOnesAddUp)
{
    EXPECT_EQ(covered({{30, 40}, {0, 10}}), 20);
    EXPECT_EQ(covered({{0, 10}, {10, 15}}), 15);
}

TEST(Intervals, OverlapCountsOnce)
{
    EXPECT_EQ(covered({{0, 10}, {5, 15}}), 15);
    EXPECT_EQ(covered({{0, 10}, {0, 10}}), 10);
    EXPECT_EQ(covered({{0, 100}, {20, 30}, {90, 110}, {40, 50}}), 110);
}

TEST(Intervals, AnInnerOneThatEndsEarlyHidesNothing)
{
    EXPECT_EQ(covered({{0, 10}, {2, 4}, {8, 12}}), 12);
}

TEST(Intervals, TimesMayBeNegativeAndLarge)
{
    EXPECT_EQ(covered({{-20, -10}, {-15, 5}}), 25);
    constexpr std::int64_t now = 1'800'000'000'000'000'000;
    EXPECT_EQ(covered({{now, now + 7}, {now + 5, now + 9}}), 9);
}

TEST(Intervals, OneThatEndsBeforeItStartsCoversNothing)
{
    EXPECT_EQ(covered({{10, 5}}), 0);
    EXPECT_EQ(covered({{10, 5}, {6, 8}}), 2);
}

}  // namespace
}  // namespace iterscope
