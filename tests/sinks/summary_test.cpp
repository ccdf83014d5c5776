#include <iterscope/summary.hpp>

#include <gtest/gtest.h>

#include <sstream>

#include "support/fakes.hpp"

namespace iterscope {
namespace {

TEST(Summary, TotalsEveryMetricOverItsIterations)
{
    const auto clock = std::make_shared<test::FakeClock>();
    const auto summary = std::make_shared<Summary>();
    Services services;
    services.clock = clock;
    services.sinks = {summary};
    const auto profiler = make_profiler({}, services);
    profiler->start();
    for (const int milliseconds : {10, 30}) {
        const ScopedRegion a = profiler->track_step("a");
        clock->advance_ms(milliseconds);
    }
    profiler->end_iteration();
    {
        const ScopedRegion b = profiler->track_step("b");
        clock->advance_ms(60);
    }
    profiler->end_iteration();

    ASSERT_EQ(summary->entries().size(), 6U);
    const Summary::Entry& total = summary->entries()[0];
    EXPECT_EQ(total.metric, "total_time_sec");
    EXPECT_EQ(total.count, 2);
    EXPECT_DOUBLE_EQ(total.total, 0.1);
    EXPECT_DOUBLE_EQ(total.mean(), 0.05);
    EXPECT_DOUBLE_EQ(total.minimum, 0.04);
    EXPECT_DOUBLE_EQ(total.maximum, 0.06);
    EXPECT_EQ(summary->entries()[2].metric, "a_time_sec");
    EXPECT_EQ(summary->entries()[2].count, 1);

    std::ostringstream out;
    summary->print(out);
    EXPECT_NE(out.str().find("a_time_sec"), std::string::npos);
    EXPECT_EQ(std::ranges::count(out.str(), '\n'), 7);

    profiler->finalize();
    profiler->start();
    EXPECT_TRUE(summary->entries().empty());
}

}  // namespace
}  // namespace iterscope
