#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <thread>

#include "support/fakes.hpp"

namespace iterscope {
namespace {

using test::Bench;

std::string message_of(const std::function<void()>& call)
{
    try {
        call();
    } catch (const UsageError& error) {
        return error.what();
    }
    return "no UsageError";
}

TEST(Regions, NestedOnesAreInclusive)
{
    Bench bench;
    bench.profiler->start();
    {
        const ScopedRegion outer = bench.profiler->track_step("outer");
        bench.clock->advance_ms(20);
        bench.spend("inner", 30);
    }
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("outer_time_sec"), 0.05);
    EXPECT_EQ(bench.metric("inner_time_sec"), 0.03);
    EXPECT_EQ(bench.metric("total_time_sec"), 0.05);
}

TEST(Regions, RepeatedOnesAddUp)
{
    Bench bench;
    bench.profiler->start();
    for (int i = 0; i < 3; ++i) {
        bench.spend("a", 7);
        bench.clock->advance_ms(100);
    }
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("a_time_sec"), 0.021);
}

TEST(Regions, RecursionCountsTheOutermostOnce)
{
    Bench bench;
    bench.profiler->start();
    const std::function<void(int)> recurse = [&](int depth) {
        const ScopedRegion f = bench.profiler->track_step("f");
        bench.clock->advance_ms(5);
        if (depth > 0) {
            const ScopedRegion other = bench.profiler->track_step("other");
            recurse(depth - 1);
        }
    };
    recurse(3);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("f_time_sec"), 0.02);
    EXPECT_EQ(bench.metric("other_time_sec"), 0.015);
}

TEST(Regions, AnExceptionClosesThemAndGoesOn)
{
    Bench bench;
    bench.profiler->start();
    try {
        const ScopedRegion outer = bench.profiler->track_step("outer");
        const ScopedRegion inner = bench.profiler->track_step("inner");
        bench.clock->advance_ms(2);
        throw std::invalid_argument("boom");
    } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(), "boom");
    }
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("outer_time_sec"), 0.002);
    bench.spend("outer", 3);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("outer_time_sec"), 0.003);
}

TEST(Regions, EndIterationWithAnOpenRegionChangesNothing)
{
    Bench bench;
    bench.profiler->start();
    {
        const ScopedRegion a = bench.profiler->track_step("a");
        bench.clock->advance_ms(4);
        const std::string text = message_of([&] { bench.profiler->end_iteration(); });
        EXPECT_NE(text.find("'a'"), std::string::npos) << text;
        EXPECT_EQ(bench.profiler->iteration(), 0);
        bench.clock->advance_ms(4);
    }
    EXPECT_TRUE(bench.sink->rows.empty());
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("a_time_sec"), 0.008);
    EXPECT_EQ(bench.metric("total_time_sec"), 0.008);
}

TEST(Regions, AStrayExitNamesTheRegionAndLaterIterationsAreWhole)
{
    Bench bench;
    bench.profiler->start();
    const RegionId prox = bench.profiler->intern("prox");
    for (int i = 0; i < 5; ++i) {
        bench.spend("prox", 6);
        if (i == 2) {
            const std::string text = message_of([&] { bench.profiler->leave(prox); });
            EXPECT_NE(text.find("'prox'"), std::string::npos) << text;
        }
        bench.profiler->end_iteration();
    }
    ASSERT_EQ(bench.sink->rows.size(), 5U);
    for (const auto& row : bench.sink->rows) {
        EXPECT_EQ(row.values.at("prox_time_sec"), 0.006);
    }
}

class CrossedRegions : public testing::Test {
protected:
    CrossedRegions()
    {
        bench.profiler->start();
        a = bench.profiler->intern("a");
        b = bench.profiler->intern("b");
        bench.profiler->enter(a);
        bench.clock->advance_ms(1);
        bench.profiler->enter(b);
        bench.clock->advance_ms(1);
        error = message_of([&] { bench.profiler->leave(a); });
        bench.clock->advance_ms(1);
        bench.profiler->leave(b);
    }

    Bench bench;
    RegionId a = 0;
    RegionId b = 0;
    std::string error;
};

TEST_F(CrossedRegions, TheErrorNamesBoth)
{
    EXPECT_NE(error.find("'a'"), std::string::npos) << error;
    EXPECT_NE(error.find("'b'"), std::string::npos) << error;
}

TEST_F(CrossedRegions, LeavingAgainInOrderGivesTheRightTimes)
{
    bench.clock->advance_ms(1);
    bench.profiler->leave(a);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("a_time_sec"), 0.004);
    EXPECT_EQ(bench.metric("b_time_sec"), 0.002);
}

TEST_F(CrossedRegions, OtherwiseTheIterationEndsWithoutANumberForTheBrokenOne)
{
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("a_time_sec"), -1);
    EXPECT_EQ(bench.metric("b_time_sec"), 0.002);
    bench.spend("a", 9);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("a_time_sec"), 0.009);
}

TEST_F(CrossedRegions, ARegionAroundThemStillCloses)
{
    bench.profiler->end_iteration();
    {
        const ScopedRegion outer = bench.profiler->track_step("outer");
        bench.profiler->enter(a);
        bench.profiler->enter(b);
        EXPECT_THROW(bench.profiler->leave(a), UsageError);
        bench.profiler->leave(b);
        bench.clock->advance_ms(8);
    }
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("outer_time_sec"), 0.008);
    EXPECT_EQ(bench.metric("a_time_sec"), -1);
}

TEST(Regions, AnotherThreadIsRefusedInsideTheWindowAndChangesNothing)
{
    Bench bench;
    bench.profiler->start();
    const Region a = bench.profiler->region("a");
    std::optional<ScopedRegion> open(a.enter());
    bench.clock->advance_ms(3);
    std::vector<std::string> texts;
    std::thread([&] {
        texts.push_back(message_of([&] { const ScopedRegion inner = a.enter(); }));
        texts.push_back(message_of([&] { bench.profiler->leave(a.id()); }));
        texts.push_back(message_of([&] { bench.profiler->end_iteration(); }));
        texts.push_back(message_of([&] { bench.profiler->intern("a"); }));
        texts.push_back(message_of([&] { bench.profiler->region("new"); }));
        texts.push_back(message_of([&] { bench.profiler->finalize(); }));
        texts.push_back(message_of([&] { bench.profiler->fail("x"); }));
    }).join();
    for (const std::string& text : texts) {
        EXPECT_NE(text.find("another thread"), std::string::npos) << text;
    }
    open.reset();
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("a_time_sec"), 0.003);
    EXPECT_EQ(bench.profiler->iteration(), 1);
    EXPECT_EQ(bench.sink->finished, 0);
}

TEST(Regions, TheirParentsAreKnownAtTheEnd)
{
    Bench bench;
    bench.profiler->start();
    bench.spend("both", 1);
    {
        const ScopedRegion outer = bench.profiler->track_step("outer");
        bench.spend("inner", 1);
        bench.spend("both", 1);
        bench.spend("outer", 1);  // a recursion
    }
    bench.profiler->end_iteration();
    bench.spend("both", 1);
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    using Parents = std::vector<std::pair<std::string, std::vector<std::string>>>;
    EXPECT_EQ(bench.sink->last_summary.region_parents,
              (Parents{{"both", {"", "outer"}}, {"outer", {""}}, {"inner", {"outer"}}}));
}

TEST(Regions, OutsideTheWindowThreadsMayEnterThem)
{
    Options options;
    options.warmup = 1;
    Bench bench(options);
    const Region known = bench.profiler->region("known");
    bench.profiler->start();
    const auto work = [&] {
        for (int i = 0; i < 2000; ++i) {
            const ScopedRegion by_name = bench.profiler->track_step("a" + std::to_string(i));
            const ScopedRegion by_handle = known.enter();
        }
    };
    std::thread first(work);
    std::thread second(work);
    work();
    first.join();
    second.join();
    EXPECT_TRUE(bench.warnings.empty());
}

TEST(Regions, OutsideTheWindowNothingIsCheckedOrRead)
{
    Options options;
    options.warmup = 1;
    options.active = 1;
    Bench bench(options);
    bench.profiler->start();
    bench.calls->clear();
    {
        const ScopedRegion a = bench.profiler->track_step("a");
        EXPECT_TRUE(bench.calls->empty());
        bench.profiler->end_iteration();  // allowed: this iteration is not recorded
    }
    EXPECT_TRUE(bench.warnings.empty());
    bench.spend("a", 2);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("a_time_sec"), 0.002);
    bench.calls->clear();
    bench.spend("a", 2);
    bench.profiler->end_iteration();
    EXPECT_TRUE(bench.calls->empty());
}

TEST(Regions, ARegionThatOutlivesTheRunIsClosedSilently)
{
    Bench bench;
    bench.profiler->start();
    {
        const ScopedRegion a = bench.profiler->track_step("a");
        bench.profiler->finalize();
    }
    EXPECT_TRUE(bench.sink->rows.empty());
    EXPECT_EQ(bench.warnings.size(), 1U);  // end_iteration() was never called
}

TEST(RegionNames, ThoseOfOwnColumnsAreRefusedFromTheStartToTheEndOfTheWindow)
{
    Options options;
    options.warmup = 1;
    options.active = 1;
    Bench bench(options);
    EXPECT_NO_THROW(bench.profiler->track_step("total"));
    EXPECT_THROW(bench.profiler->region("total"), ConfigError);
    bench.profiler->start();
    for (const char* name : {"total", "comm", ""}) {
        EXPECT_THROW(bench.profiler->track_step(name), ConfigError) << name;
        EXPECT_THROW(bench.profiler->region(name), ConfigError) << name;
    }
    bench.profiler->end_iteration();
    EXPECT_THROW(bench.profiler->track_step("total"), ConfigError);
    bench.profiler->end_iteration();
    EXPECT_NO_THROW(bench.profiler->track_step("total"));
}

TEST(RegionNames, AnyOtherTextIsLegal)
{
    Bench bench;
    bench.profiler->start();
    for (const char* name : {"iter", "max_gpu_mb", "a,b \"q\"\nz", "été 日本", "totals", " "}) {
        bench.spend(name, 1);
    }
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.profiler->current_metrics().size(), 2U + 2U * 6U);
    EXPECT_EQ(bench.metric("a,b \"q\"\nz_time_sec"), 0.001);
}

}  // namespace
}  // namespace iterscope
