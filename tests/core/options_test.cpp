#include <iterscope/options.hpp>

#include <gtest/gtest.h>

#include <iterscope/error.hpp>
#include <iterscope/profiler.hpp>

namespace iterscope {
namespace {

TEST(ParseMode, KnowsFourModes)
{
    EXPECT_EQ(parse_mode("None"), Mode::null);
    EXPECT_EQ(parse_mode("null"), Mode::null);
    for (const Mode mode : {Mode::null, Mode::custom, Mode::torch, Mode::nvidia}) {
        EXPECT_EQ(parse_mode(to_string(mode)), mode);
    }
}

TEST(ParseMode, UnknownModeNamesItAndTheChoice)
{
    try {
        parse_mode("Custom");
        FAIL();
    } catch (const ConfigError& error) {
        EXPECT_STREQ(
            error.what(),
            "unknown profiler mode 'Custom' (there is no such recorder); use None, custom, "
            "torch or nvidia");
    }
}

TEST(Validate, NegativeCountsAreErrors)
{
    for (auto member : {&Options::warmup, &Options::active, &Options::repeat}) {
        Options options;
        options.*member = -1;
        EXPECT_THROW(validate(options), ConfigError);
        options.mode = Mode::null;
        EXPECT_THROW(make_profiler(options), ConfigError);
    }
}

TEST(Validate, TraceNeedsAggregation)
{
    Options options;
    options.mode = Mode::torch;
    options.trace_dir = "traces";
    EXPECT_THROW(validate(options), ConfigError);
    options.per_step = false;
    options.active = 5;
    EXPECT_TRUE(validate(options).empty());
    options.collector = Collector::observer;
    EXPECT_THROW(validate(options), ConfigError);
}

TEST(Validate, ATraceWithoutEndWarns)
{
    Options options;
    options.mode = Mode::torch;
    options.trace_dir = "traces";
    options.per_step = false;
    EXPECT_EQ(validate(options).size(), 1U);
}

TEST(Validate, RepeatNeedsCycles)
{
    Options options;
    options.mode = Mode::torch;
    options.repeat = 3;
    EXPECT_EQ(validate(options).size(), 1U);
    options.per_step = false;
    EXPECT_EQ(validate(options).size(), 1U);
    options.active = 2;
    EXPECT_TRUE(validate(options).empty());
}

TEST(ParseCollector, KnowsThree)
{
    EXPECT_EQ(parse_collector("auto"), Collector::automatic);
    EXPECT_EQ(parse_collector("observer"), Collector::observer);
    EXPECT_EQ(parse_collector("kineto"), Collector::kineto);
    EXPECT_THROW(parse_collector("Kineto"), ConfigError);
}

TEST(Validate, OptionsOfAnotherModeWarn)
{
    Options options;
    options.trace_dir = "traces";
    options.per_step = false;
    options.repeat = 2;
    EXPECT_EQ(validate(options).size(), 3U);
}

TEST(MakeProfiler, TheCoreKnowsOnlyTheCpu)
{
    Options options;
    options.device = "cuda:0";
    EXPECT_THROW(make_profiler(options), ConfigError);
}

TEST(MakeProfiler, ModesThatAreNotBuiltAreRefused)
{
    Options options;
    options.mode = Mode::torch;
    EXPECT_THROW(make_profiler(options), ConfigError);
    options.mode = Mode::nvidia;
    EXPECT_THROW(make_profiler(options), ConfigError);
}

}  // namespace
}  // namespace iterscope
