#include <iterscope/profiler.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/fakes.hpp"

namespace iterscope {
namespace {

using test::Bench;
using Metrics = std::vector<std::pair<std::string, double>>;

Options window(std::int64_t warmup, std::int64_t active)
{
    Options options;
    options.warmup = warmup;
    options.active = active;
    return options;
}

TEST(Profiler, RecordsExactlyTheWindow)
{
    Bench bench(window(2, 3));
    bench.profiler->start();
    std::vector<bool> has_metrics;
    for (int i = 0; i < 8; ++i) {
        bench.spend("step", 10);
        bench.profiler->end_iteration();
        has_metrics.push_back(!bench.profiler->current_metrics().empty());
    }
    bench.profiler->finalize();
    EXPECT_EQ(has_metrics,
              (std::vector<bool>{false, false, true, true, true, false, false, false}));
    ASSERT_EQ(bench.sink->rows.size(), 3U);
    EXPECT_EQ(bench.sink->rows.front().iteration, 2);
    EXPECT_EQ(bench.sink->rows.back().iteration, 4);
    EXPECT_EQ(bench.sink->last_summary.iterations, 8);
    EXPECT_EQ(bench.sink->last_summary.recorded_iterations, 3);
}

TEST(Profiler, ActiveZeroRecordsAllThatRemain)
{
    Bench bench(window(1, 0));
    bench.profiler->start();
    for (int i = 0; i < 20; ++i) {
        bench.profiler->end_iteration();
    }
    EXPECT_EQ(bench.sink->rows.size(), 19U);
}

TEST(Profiler, MetricsAreExactAndReadingChangesNothing)
{
    Bench bench;
    bench.profiler->start();
    bench.clock->advance_ms(5);
    bench.spend("gradient", 20);
    bench.spend("denoise", 30);
    bench.profiler->end_iteration();
    const Metrics expected = {{"total_time_sec", 0.055},   {"max_gpu_mb", 0},
                              {"gradient_time_sec", 0.02}, {"gradient_max_gpu_mb", 0},
                              {"denoise_time_sec", 0.03},  {"denoise_max_gpu_mb", 0}};
    EXPECT_EQ(bench.profiler->current_metrics(), expected);
    EXPECT_EQ(bench.profiler->current_metrics(), expected);
}

TEST(Profiler, TheIterationClockHoldsTheTimeBetweenIterations)
{
    Bench bench;
    bench.profiler->start();
    bench.spend("step", 10);
    bench.profiler->end_iteration();
    bench.clock->advance_ms(200);  // the objective's callback
    bench.spend("step", 10);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("total_time_sec"), 0.21);
    EXPECT_EQ(bench.metric("step_time_sec"), 0.01);
}

TEST(Profiler, StartIterationsDropsTheSetUp)
{
    Bench bench;
    bench.profiler->start();
    bench.spend("step", 1000);
    bench.clock->advance_ms(1000);
    bench.profiler->start_iterations();
    bench.spend("step", 10);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("total_time_sec"), 0.01);
    EXPECT_EQ(bench.metric("step_time_sec"), 0.01);
    EXPECT_THROW(bench.profiler->start_iterations(), UsageError);
}

TEST(Profiler, TheProfilersOwnWorkIsInNoInterval)
{
    // A sink that takes 7 ms a row.
    class SlowSink final : public Sink {
    public:
        explicit SlowSink(std::shared_ptr<test::FakeClock> clock) : clock_(std::move(clock)) {}
        void begin(RunContext&) override {}
        void write(const IterationRecord&, const ColumnTable&) override { clock_->advance_ms(7); }
        void finish(const RunSummary& summary) override
        {
            EXPECT_DOUBLE_EQ(summary.profiler_time_sec, 0.021);
        }

    private:
        std::shared_ptr<test::FakeClock> clock_;
    };
    Services services;
    const auto clock = std::make_shared<test::FakeClock>();
    services.clock = clock;
    services.sinks = {std::make_shared<SlowSink>(clock)};
    const auto profiler = make_profiler({}, services);
    profiler->start();
    for (int i = 0; i < 3; ++i) {
        clock->advance_ms(10);
        profiler->end_iteration();
        EXPECT_EQ(profiler->current_metrics().front().second, 0.01);
    }
    profiler->finalize();
}

TEST(Profiler, KeyOrderDoesNotDependOnTheOrderOfEntry)
{
    Bench bench;
    bench.profiler->start();
    const auto keys = [&] {
        std::vector<std::string> names;
        for (const auto& [name, value] : bench.profiler->current_metrics()) {
            names.push_back(name);
        }
        return names;
    };
    bench.spend("a", 1);
    bench.spend("b", 1);
    bench.profiler->end_iteration();
    const std::vector<std::string> first = keys();
    bench.spend("b", 1);
    bench.spend("a", 1);
    bench.profiler->end_iteration();
    EXPECT_EQ(keys(), first);
}

TEST(Profiler, ARegionThatWasNotEnteredHasNoKey)
{
    Bench bench;
    bench.profiler->start();
    bench.spend("a", 1);
    bench.profiler->end_iteration();
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.profiler->current_metrics().size(), 2U);
}

TEST(Profiler, ASecondRunStartsFromZero)
{
    Bench bench(window(0, 2));
    for (int run = 0; run < 2; ++run) {
        bench.profiler->start();
        EXPECT_TRUE(bench.profiler->current_metrics().empty());
        EXPECT_EQ(bench.profiler->iteration(), 0);
        for (int i = 0; i < 3; ++i) {
            bench.spend("a", 4);
            bench.profiler->end_iteration();
        }
        bench.profiler->finalize();
    }
    EXPECT_EQ(bench.sink->begun, 2);
    ASSERT_EQ(bench.sink->rows.size(), 4U);
    EXPECT_EQ(bench.sink->rows[2].iteration, 0);
    EXPECT_EQ(bench.sink->rows[2].values.at("a_time_sec"), 0.004);
}

TEST(Profiler, StartingTwiceIsAnErrorThatChangesNothing)
{
    Bench bench;
    bench.profiler->start();
    bench.spend("a", 3);
    EXPECT_THROW(bench.profiler->start(), UsageError);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.metric("a_time_sec"), 0.003);
    EXPECT_EQ(bench.sink->begun, 1);
}

TEST(Profiler, FinalizeIsIdempotentAndWhatFollowsDoesNothing)
{
    Bench bench;
    bench.profiler->start();
    bench.spend("a", 3);
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    bench.profiler->finalize();
    bench.spend("a", 3);
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.sink->finished, 1);
    EXPECT_EQ(bench.sink->rows.size(), 1U);
    EXPECT_TRUE(bench.profiler->current_metrics().empty());
    EXPECT_TRUE(bench.warnings.empty());
}

TEST(Profiler, AnotherRankAfterTheEndIsSaidAndKept)
{
    Bench bench;
    bench.profiler->start();
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    bench.profiler->finalize(3);
    bench.profiler->finalize(3);
    EXPECT_EQ(bench.warnings.size(), 1U);
    EXPECT_EQ(bench.sink->last_summary.other_ranks, (std::vector<std::int64_t>{3}));
    EXPECT_EQ(bench.sink->rows.size(), 1U);
}

TEST(Profiler, TheDestructorEndsTheRun)
{
    const auto sink = std::make_shared<test::MemorySink>();
    Services services;
    services.sinks = {sink};
    {
        const auto profiler = make_profiler({}, services);
        profiler->start();
        profiler->end_iteration();
    }
    EXPECT_EQ(sink->finished, 1);
    EXPECT_FALSE(sink->last_summary.failed);
}

TEST(Profiler, AnExceptionOnItsWayThroughMarksTheRunAsFailed)
{
    const auto sink = std::make_shared<test::MemorySink>();
    Services services;
    services.sinks = {sink};
    try {
        const auto profiler = make_profiler({}, services);
        profiler->start();
        profiler->end_iteration();
        throw std::runtime_error("boom");
    } catch (const std::runtime_error&) {
        EXPECT_TRUE(sink->last_summary.failed);
    }
    EXPECT_EQ(sink->rows.size(), 1U);
}

TEST(Profiler, ALoopWithoutEndIterationSaysSoOnce)
{
    Bench bench;
    bench.profiler->start();
    for (int i = 0; i < 10; ++i) {
        bench.spend("a", 1);
    }
    bench.profiler->finalize();
    EXPECT_TRUE(bench.sink->rows.empty());
    ASSERT_EQ(bench.warnings.size(), 1U);
    EXPECT_NE(bench.warnings[0].find("end_iteration()"), std::string::npos);
}

TEST(Profiler, ARunThatEndsBeforeItsWindowSaysSoOnce)
{
    Bench bench(window(3, 5));
    bench.profiler->start();
    bench.profiler->end_iteration();
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    ASSERT_EQ(bench.warnings.size(), 1U);
    EXPECT_NE(bench.warnings[0].find("after 2 iterations"), std::string::npos);
}

TEST(Profiler, EndIterationBeforeStartWarnsOnceAndGoesOn)
{
    Bench bench;
    bench.profiler->end_iteration();
    bench.profiler->end_iteration();
    EXPECT_EQ(bench.warnings.size(), 1U);
}

TEST(Profiler, AContextOfAnotherRankIsSaidOnceAndKept)
{
    Bench bench;
    bench.profiler->start();
    bench.profiler->end_iteration(0);
    bench.profiler->end_iteration(2);
    bench.profiler->end_iteration(2);
    bench.profiler->end_iteration(3);
    bench.profiler->finalize(2);
    EXPECT_EQ(bench.warnings.size(), 1U);
    EXPECT_EQ(bench.sink->last_summary.other_ranks, (std::vector<std::int64_t>{2, 3}));
}

TEST(Profiler, ASinkThatFailsLosesItsRowsAndNothingElse)
{
    class BrokenSink final : public Sink {
    public:
        void begin(RunContext&) override {}
        void write(const IterationRecord&, const ColumnTable&) override
        {
            throw IoError("writing 'x' failed (No space left on device); free some space");
        }
        void finish(const RunSummary&) override { throw IoError("finish"); }
    };
    const auto kept = std::make_shared<test::MemorySink>();
    std::vector<std::string> warnings;
    Services services;
    services.sinks = {std::make_shared<BrokenSink>(), kept};
    services.warn = [&](const std::string& line) { warnings.push_back(line); };
    const auto profiler = make_profiler({}, services);
    profiler->start();
    for (int i = 0; i < 5; ++i) {
        profiler->end_iteration();
    }
    profiler->finalize();
    EXPECT_EQ(kept->rows.size(), 5U);
    EXPECT_EQ(kept->last_summary.rows_lost, 0) << "no row of a file was lost";
    EXPECT_EQ(warnings.size(), 2U);  // one for the rows, one for the end
}

TEST(Profiler, ASinkThatCannotBeginStopsTheStartAndCancelsTheOthers)
{
    class FirstSink final : public Sink {
    public:
        void begin(RunContext&) override { ++begun; }
        void cancel() noexcept override { ++cancelled; }
        void write(const IterationRecord&, const ColumnTable&) override {}
        void finish(const RunSummary&) override {}
        int begun = 0;
        int cancelled = 0;
    };
    class NoSink final : public Sink {
    public:
        void begin(RunContext&) override { throw IoError("no"); }
        void write(const IterationRecord&, const ColumnTable&) override {}
        void finish(const RunSummary&) override { ADD_FAILURE() << "it had not begun"; }
    };
    const auto first = std::make_shared<FirstSink>();
    Services services;
    services.sinks = {first, std::make_shared<NoSink>()};
    const auto profiler = make_profiler({}, services);
    EXPECT_THROW(profiler->start(), IoError);
    EXPECT_EQ(first->begun, 1);
    EXPECT_EQ(first->cancelled, 1);
    EXPECT_FALSE(profiler->is_recording());
}

TEST(NullProfiler, ReadsNoClockAndRecordsNothing)
{
    Options options;
    options.mode = Mode::null;
    Bench bench(options, true);
    bench.profiler->start();
    bench.profiler->start();
    bench.profiler->start_iterations();
    for (int i = 0; i < 3; ++i) {
        bench.spend("total", 1);  // any name will do
        bench.spend("", 1);
        bench.profiler->end_iteration(7);
    }
    bench.profiler->finalize();
    EXPECT_TRUE(bench.calls->empty());
    EXPECT_TRUE(bench.profiler->current_metrics().empty());
    EXPECT_EQ(bench.sink->begun, 0);
    EXPECT_TRUE(bench.warnings.empty());
}

}  // namespace
}  // namespace iterscope
