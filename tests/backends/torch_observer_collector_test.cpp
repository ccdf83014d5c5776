#include "backends/torch/observer_collector.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>
#include <torch/csrc/profiler/orchestration/observer.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "support/observed_work.hpp"

namespace iterscope {
namespace {

using test::Annotation;
using test::Counts;
using test::counts_of;
using test::operate;
using test::Operation;
using test::stats_of;
using test::working_thread;

constexpr RegionId k_a = 0;
constexpr RegionId k_b = 1;
constexpr RegionId k_c = 2;

bool nothing_is_registered()
{
    namespace profiler = torch::profiler::impl;
    return !at::hasThreadLocalCallbacks() &&
           profiler::profilerType() == profiler::ActiveProfilerType::NONE &&
           c10::ThreadLocalDebugInfo::current() == nullptr;
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool k_is_sanitized = true;  // its shadow grows with every thread and allocation
#else
constexpr bool k_is_sanitized = false;
#endif

std::int64_t resident_bytes()
{
    std::ifstream file("/proc/self/statm");
    std::int64_t total = 0;
    std::int64_t resident = 0;
    file >> total >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

/// A region while it lives.
class Scope {
public:
    Scope(ObserverCollector& collector, RegionId region) : collector_(collector), region_(region)
    {
        collector_.enter(region_);
    }
    ~Scope() { collector_.leave(region_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

private:
    ObserverCollector& collector_;
    RegionId region_;
};

class ObserverCollectorTest : public testing::Test {
protected:
    ObserverCollectorTest() { collector->open(); }
    ~ObserverCollectorTest() override
    {
        collector.reset();
        EXPECT_TRUE(nothing_is_registered());
    }

    void begin() { collector->begin_iteration(next_++); }
    OperatorTable end()
    {
        OperatorTable table;
        collector->end_iteration(table);
        return table;
    }
    template <class Work>
    OperatorTable record(Work work)
    {
        begin();
        work();
        return end();
    }
    /// Fails unless an iteration of one operator is recorded as it should be.
    void expect_sound_iteration()
    {
        const OperatorTable table = record([&] {
            const Scope region(*collector, k_a);
            operate("sound");
        });
        EXPECT_FALSE(table.is_partial);
        EXPECT_EQ(counts_of(table.full), (Counts{{{k_a, "sound"}, 1}}));
        EXPECT_EQ(counts_of(table.direct), (Counts{{{k_a, "sound"}, 1}}));
    }

    std::unique_ptr<ObserverCollector> collector =
        std::make_unique<ObserverCollector>(c10::Device(c10::kCPU));

private:
    std::int64_t next_ = 0;
};

// --- regions -----------------------------------------------------------------------------------

TEST_F(ObserverCollectorTest, OperatorsBelongToTheInnermostRegion)
{
    const OperatorTable table = record([&] {
        operate("before");
        const Scope outer(*collector, k_a);
        operate("x");
        {
            const Scope inner(*collector, k_b);
            operate("x");
            operate("y");
        }
        operate("x");
    });
    EXPECT_EQ(counts_of(table.full), (Counts{{{k_a, "x"}, 2}, {{k_b, "x"}, 1}, {{k_b, "y"}, 1}}));
    EXPECT_EQ(counts_of(table.direct),
              (Counts{{{k_a, "x"}, 3}, {{k_a, "y"}, 1}, {{k_b, "x"}, 1}, {{k_b, "y"}, 1}}));
    ASSERT_EQ(table.regions.size(), 2U);
    EXPECT_FALSE(table.is_partial);
}

TEST_F(ObserverCollectorTest, OnlyOperatorsThatTheRegionCalledAreDirect)
{
    const OperatorTable table = record([&] {
        const Scope region(*collector, k_a);
        const Operation outer("outer");
        operate("inner");
        operate("inner");
    });
    EXPECT_EQ(counts_of(table.full), (Counts{{{k_a, "outer"}, 1}, {{k_a, "inner"}, 2}}));
    EXPECT_EQ(counts_of(table.direct), (Counts{{{k_a, "outer"}, 1}}));
    const OperatorStats outer = stats_of(table.full, k_a, "outer");
    const OperatorStats inner = stats_of(table.full, k_a, "inner");
    EXPECT_EQ(outer.cpu_ns, outer.self_cpu_ns + inner.cpu_ns);
    EXPECT_EQ(inner.cpu_ns, inner.self_cpu_ns);
    EXPECT_EQ(stats_of(table.direct, k_a, "outer").cpu_ns, outer.cpu_ns);
}

TEST_F(ObserverCollectorTest, RecursionCountsOnce)
{
    const OperatorTable table = record([&] {
        const Scope outer(*collector, k_a);
        const Scope between(*collector, k_b);
        const Scope again(*collector, k_a);
        operate("x");
    });
    EXPECT_EQ(counts_of(table.full), (Counts{{{k_a, "x"}, 1}}));
    EXPECT_EQ(counts_of(table.direct), (Counts{{{k_a, "x"}, 1}, {{k_b, "x"}, 1}}));
}

TEST_F(ObserverCollectorTest, ARegionThatAnOperatorOpensDoesNotCallForTheOnesAround)
{
    const OperatorTable table = record([&] {
        const Scope outer(*collector, k_a);
        const Operation call("call");
        const Scope inner(*collector, k_b);
        operate("x");
    });
    EXPECT_EQ(counts_of(table.full), (Counts{{{k_a, "call"}, 1}, {{k_b, "x"}, 1}}));
    EXPECT_EQ(counts_of(table.direct), (Counts{{{k_a, "call"}, 1}, {{k_b, "x"}, 1}}));
}

TEST_F(ObserverCollectorTest, IterationsDoNotMix)
{
    for (int i = 1; i < 5; ++i) {
        const OperatorTable table = record([&] {
            const Scope region(*collector, k_a);
            for (int n = 0; n < i; ++n) {
                operate("x");
            }
        });
        EXPECT_EQ(counts_of(table.full), (Counts{{{k_a, "x"}, i}}));
    }
    EXPECT_TRUE(record([] {}).regions.empty());
}

// --- twins -------------------------------------------------------------------------------------

TEST_F(ObserverCollectorTest, AnOnlyChildOfTheSameNameIsTheSameCall)
{
    const OperatorTable table = record([&] {
        const Scope region(*collector, k_a);
        const Operation outer("x");
        const Operation inner("x");
        const Operation innermost("x");
        operate("y");
    });
    EXPECT_EQ(counts_of(table.full), (Counts{{{k_a, "x"}, 1}, {{k_a, "y"}, 1}}));
    EXPECT_EQ(counts_of(table.direct), (Counts{{{k_a, "x"}, 1}}));
    const OperatorStats merged = stats_of(table.full, k_a, "x");
    EXPECT_EQ(stats_of(table.direct, k_a, "x"), merged);
    EXPECT_EQ(merged.cpu_ns, merged.self_cpu_ns + stats_of(table.full, k_a, "y").cpu_ns);
}

TEST_F(ObserverCollectorTest, SeveralChildrenOfTheSameNameAreCallsOfTheirOwn)
{
    const OperatorTable table = record([&] {
        const Scope region(*collector, k_a);
        const Operation outer("x");
        operate("x");
        operate("x");
    });
    EXPECT_EQ(counts_of(table.full), (Counts{{{k_a, "x"}, 3}}));
    EXPECT_EQ(counts_of(table.direct), (Counts{{{k_a, "x"}, 1}}));
}

TEST_F(ObserverCollectorTest, AChildBesideATwinKeepsBothApart)
{
    const OperatorTable table = record([&] {
        const Scope region(*collector, k_a);
        const Operation outer("x");
        operate("x");
        operate("y");
    });
    EXPECT_EQ(counts_of(table.full), (Counts{{{k_a, "x"}, 2}, {{k_a, "y"}, 1}}));
}

// --- annotations -------------------------------------------------------------------------------

TEST_F(ObserverCollectorTest, AnnotationsCloseInAnyOrder)
{
    const OperatorTable table = record([&] {
        const Scope region(*collector, k_a);
        Annotation first("first");
        Annotation second("second");
        operate("x");
        first.end();
        operate("x");
        second.end();
        operate("x");
    });
    EXPECT_FALSE(table.is_partial);
    const Counts expected{{{k_a, "first"}, 1}, {{k_a, "second"}, 1}, {{k_a, "x"}, 3}};
    EXPECT_EQ(counts_of(table.full), expected);
    EXPECT_EQ(counts_of(table.direct), (Counts{{{k_a, "x"}, 3}}));
    expect_sound_iteration();
}

TEST_F(ObserverCollectorTest, AnAnnotationOutlivesItsRegionAndItsIteration)
{
    auto annotation = std::make_unique<Annotation>("unused");
    annotation->end();
    const OperatorTable table = record([&] {
        const Scope region(*collector, k_a);
        annotation = std::make_unique<Annotation>("long");
        operate("x");
    });
    EXPECT_FALSE(table.is_partial);
    EXPECT_EQ(counts_of(table.full).at({k_a, "x"}), 1);
    begin();
    {
        const Scope region(*collector, k_a);
        const Operation operation("y");
        annotation.reset();
    }
    const OperatorTable next = end();
    EXPECT_FALSE(next.is_partial);
    EXPECT_EQ(counts_of(next.full), (Counts{{{k_a, "y"}, 1}}));
}

TEST_F(ObserverCollectorTest, AnAnnotationMayEndOnAnotherThread)
{
    const OperatorTable table = record([&] {
        const Scope region(*collector, k_a);
        auto annotation = std::make_unique<Annotation>("moved");
        working_thread([&] { annotation.reset(); }).join();
        operate("x");
    });
    EXPECT_FALSE(table.is_partial);
    EXPECT_EQ(counts_of(table.full).at({k_a, "x"}), 1);
    expect_sound_iteration();
}

// --- memory ------------------------------------------------------------------------------------

TEST_F(ObserverCollectorTest, MemoryBelongsToTheOperatorThatAllocates)
{
    at::Tensor kept;
    const OperatorTable table = record([&] {
        const Scope region(*collector, k_a);
        {
            const Operation outer("outer");
            kept = at::empty({1 << 20}, at::kByte);
        }
        kept = at::Tensor();
    });
    EXPECT_EQ(stats_of(table.full, k_a, "outer").memory_bytes, 1 << 20);
    EXPECT_EQ(stats_of(table.full, k_a, "outer").self_memory_bytes, 0);
    EXPECT_EQ(stats_of(table.full, k_a, "aten::empty").self_memory_bytes, 1 << 20);
    EXPECT_EQ(stats_of(table.full, k_a, k_memory_row).memory_bytes, -(1 << 20));
}

TEST_F(ObserverCollectorTest, MemoryOfAWorkingThreadBelongsToTheRegion)
{
    const OperatorTable table = record([&] {
        const Scope region(*collector, k_b);
        working_thread([] { at::empty({1 << 20}, at::kByte); }).join();
    });
    EXPECT_EQ(stats_of(table.full, k_b, "aten::empty").memory_bytes, 1 << 20);
    EXPECT_EQ(stats_of(table.full, k_b, k_memory_row).memory_bytes, -(1 << 20));
}

// --- threads -----------------------------------------------------------------------------------

TEST_F(ObserverCollectorTest, OperatorsOfAWorkingThreadBelongToTheRegion)
{
    const OperatorTable table = record([&] {
        const Scope region(*collector, k_b);
        working_thread([] {
            const Operation outer("outer");
            operate("inner");
        }).join();
    });
    EXPECT_EQ(counts_of(table.full), (Counts{{{k_b, "outer"}, 1}, {{k_b, "inner"}, 1}}));
    EXPECT_EQ(counts_of(table.direct), (Counts{{{k_b, "outer"}, 1}}));
    EXPECT_EQ(collector->late_events(), 0);
}

TEST_F(ObserverCollectorTest, APlainThreadLeavesNothing)
{
    const OperatorTable table = record([&] {
        const Scope region(*collector, k_b);
        std::thread([] { operate("x"); }).join();
    });
    EXPECT_TRUE(table.full.empty());
}

TEST_F(ObserverCollectorTest, SeveralThreadsAtOnce)
{
    constexpr int threads = 4;
    constexpr int operators = 2000;
    for (int round = 0; round < 5; ++round) {
        const OperatorTable table = record([&] {
            std::vector<std::thread> working;
            for (RegionId region = 0; region < threads; ++region) {
                const Scope scope(*collector, region);
                working.push_back(working_thread([] {
                    for (int i = 0; i < operators; ++i) {
                        const Operation outer("outer");
                        operate("inner " + std::to_string(i % 3));
                    }
                }));
            }
            const Scope scope(*collector, k_a);
            for (int i = 0; i < operators; ++i) {
                operate("here");
            }
            for (std::thread& thread : working) {
                thread.join();
            }
        });
        const Counts counts = counts_of(table.full);
        const Counts direct = counts_of(table.direct);
        EXPECT_EQ(counts.at({k_a, "here"}), operators);
        for (RegionId region = 0; region < threads; ++region) {
            EXPECT_EQ(counts.at({region, "outer"}), operators);
            EXPECT_EQ(direct.at({region, "outer"}), operators);
            EXPECT_EQ(counts.at({region, "inner 0"}), (operators + 2) / 3);
            EXPECT_EQ(direct.count({region, "inner 0"}), 0U);
        }
    }
    EXPECT_EQ(collector->late_events(), 0);
}

TEST_F(ObserverCollectorTest, WorkThatEndsAfterItsIterationIsLate)
{
    std::promise<void> began;
    std::promise<void> go_on;
    begin();
    std::thread thread;
    {
        const Scope region(*collector, k_a);
        thread = working_thread([&] {
            operate("in time");
            {
                const Operation operation("too long");
                began.set_value();
                go_on.get_future().wait();
            }
            operate("all of it too late");
        });
        began.get_future().wait();
    }
    EXPECT_EQ(counts_of(end().full), (Counts{{{k_a, "in time"}, 1}}));
    EXPECT_EQ(collector->late_events(), 0);

    begin();
    go_on.set_value();
    thread.join();
    {
        const Scope region(*collector, k_a);
        operate("next");
    }
    EXPECT_EQ(counts_of(end().full), (Counts{{{k_a, "next"}, 1}}));
    EXPECT_EQ(collector->late_events(), 2);
    expect_sound_iteration();
}

TEST_F(ObserverCollectorTest, WorkOutlivesTheCollector)
{
    std::promise<void> began;
    std::promise<void> go_on;
    begin();
    std::thread thread;
    {
        const Scope region(*collector, k_a);
        thread = working_thread([&] {
            const Operation operation("too long");
            const at::Tensor memory = at::empty({8});
            began.set_value();
            go_on.get_future().wait();
            operate("too late");
        });
        began.get_future().wait();
    }
    end();
    collector.reset();
    go_on.set_value();
    thread.join();
}

TEST_F(ObserverCollectorTest, ThreadsThatWorkAcrossIterationsLoseNothing)
{
    constexpr int iterations = 50;
    constexpr int operators = 500;
    std::int64_t counted = 0;
    const auto collect = [&](const OperatorTable& table) {
        for (const auto& [key, count] : counts_of(table.full)) {
            counted += key.second == "x" ? count : 0;
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < iterations; ++i) {
        begin();
        {
            const Scope region(*collector, k_a);
            threads.push_back(working_thread([] {
                for (int n = 0; n < operators; ++n) {
                    operate("x");
                }
            }));
            for (int n = 0; n < 100; ++n) {
                operate("here");
            }
        }
        const OperatorTable table = end();
        EXPECT_EQ(counts_of(table.full).at({k_a, "here"}), 100);
        collect(table);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(counted + collector->late_events(), std::int64_t{iterations} * operators);
}

TEST_F(ObserverCollectorTest, OneThreadWorksForSeveralCollectors)
{
    std::promise<at::ThreadLocalState> states[2];
    std::promise<void> done[2];
    std::thread thread([&] {
        for (int i = 0; i < 2; ++i) {
            const at::ThreadLocalStateGuard guard(states[i].get_future().get());
            operate("x");
            done[i].set_value();
        }
    });
    for (int i = 0; i < 2; ++i) {
        const OperatorTable table = record([&] {
            const Scope region(*collector, k_c);
            states[i].set_value(at::ThreadLocalState());
            done[i].get_future().wait();
        });
        EXPECT_EQ(counts_of(table.full), (Counts{{{k_c, "x"}, 1}})) << i;
        collector = std::make_unique<ObserverCollector>(c10::Device(c10::kCPU));
    }
    thread.join();
}

TEST_F(ObserverCollectorTest, TwoCollectorsOnTwoThreads)
{
    const auto record_alone = [](int operators) {
        ObserverCollector own(c10::Device(c10::kCPU));
        own.open();
        for (std::int64_t i = 0; i < 100; ++i) {
            own.begin_iteration(i);
            own.enter(k_a);
            for (int n = 0; n < operators; ++n) {
                operate("x");
            }
            own.leave(k_a);
            OperatorTable table;
            own.end_iteration(table);
            ASSERT_EQ(counts_of(table.full), (Counts{{{k_a, "x"}, operators}}));
        }
    };
    std::thread first(record_alone, 3);
    std::thread second(record_alone, 5);
    first.join();
    second.join();
}

// --- what comes in between ---------------------------------------------------------------------

struct Foreign final : c10::DebugInfoBase {};

TEST_F(ObserverCollectorTest, AForeignPieceOnTopAtTheExitOfARegionCostsOneIteration)
{
    begin();
    collector->enter(k_a);
    operate("x");
    {
        const c10::DebugInfoGuard foreign(c10::DebugInfoKind::TEST_INFO,
                                          std::make_shared<Foreign>());
        collector->leave(k_a);
        operate("y");
    }
    EXPECT_TRUE(end().is_partial);
    expect_sound_iteration();
    EXPECT_EQ(collector->late_events(), 0);
}

TEST_F(ObserverCollectorTest, AForeignPieceThatStaysForIterations)
{
    {
        begin();
        collector->enter(k_a);
        const c10::DebugInfoGuard foreign(c10::DebugInfoKind::TEST_INFO,
                                          std::make_shared<Foreign>());
        collector->leave(k_a);
        EXPECT_TRUE(end().is_partial);
        record([&] {
            const Scope region(*collector, k_a);
            operate("x");
        });
    }
    expect_sound_iteration();
}

TEST_F(ObserverCollectorTest, AForeignPieceThatOutlivesTheCollector)
{
    namespace profiler = torch::profiler::impl;
    begin();
    collector->enter(k_a);
    {
        const c10::DebugInfoGuard foreign(c10::DebugInfoKind::TEST_INFO,
                                          std::make_shared<Foreign>());
        collector.reset();
        EXPECT_EQ(profiler::profilerType(), profiler::ActiveProfilerType::NONE);
        EXPECT_FALSE(at::hasThreadLocalCallbacks());
        EXPECT_FALSE(c10::memoryProfilingEnabled());
        const at::Tensor memory = at::empty({8});
    }
    // What is ours lies below and goes with the next collector on this thread.
    collector = std::make_unique<ObserverCollector>(c10::Device(c10::kCPU));
    collector->open();
    expect_sound_iteration();
}

TEST_F(ObserverCollectorTest, ARegionThatIsLeftInAnotherThreadState)
{
    const at::ThreadLocalState clean;
    begin();
    collector->enter(k_a);
    {
        const at::ThreadLocalStateGuard elsewhere(clean);
        collector->leave(k_a);
    }
    operate("x");
    EXPECT_TRUE(end().is_partial);
    expect_sound_iteration();
}

TEST_F(ObserverCollectorTest, AnOperatorThatIsOpenAtTheExitOfARegion)
{
    begin();
    collector->enter(k_a);
    {
        const Operation operation("open");
        collector->leave(k_a);
    }
    EXPECT_TRUE(end().is_partial);
    expect_sound_iteration();
}

TEST_F(ObserverCollectorTest, CloseWithoutTheEndOfTheIteration)
{
    begin();
    collector->enter(k_a);
    collector->enter(k_b);
    const Operation operation("open");
    collector->close();
    EXPECT_TRUE(nothing_is_registered());
    collector->close();
}

TEST_F(ObserverCollectorTest, IterationsAfterClose)
{
    begin();
    collector->enter(k_a);
    collector->close();
    expect_sound_iteration();
}

// --- bounds ------------------------------------------------------------------------------------

TEST_F(ObserverCollectorTest, MemoryIsFlatOverIterationsAndNames)
{
    constexpr int names = 1000;
    constexpr int iterations = 10'000;
    std::int64_t before = 0;
    for (int i = 0; i < iterations; ++i) {
        if (i == iterations / 5) {
            before = resident_bytes();
        }
        const OperatorTable table = record([&] {
            const Scope region(*collector, k_a);
            for (int n = 0; n < 10; ++n) {
                operate("operator " + std::to_string((10 * i + n) % names));
            }
            at::empty({16});
        });
        ASSERT_FALSE(table.is_partial);
        for (int n = 0; n < 10; ++n) {
            const std::string name = "operator " + std::to_string((10 * i + n) % names);
            ASSERT_EQ(stats_of(table.full, k_a, name).count, 1);
        }
    }
    EXPECT_TRUE(k_is_sanitized || resident_bytes() - before < 4 << 20);
}

TEST_F(ObserverCollectorTest, MemoryIsFlatOverLabelsThatNeverComeAgain)
{
    std::int64_t before = 0;
    for (int i = 0; i < 60'000; ++i) {
        if (i == 30'000) {
            before = resident_bytes();
        }
        const std::string label = "iteration " + std::to_string(i);
        const OperatorTable table = record([&] {
            const Scope region(*collector, k_a);
            const Annotation annotation(label);
            operate("x");
        });
        ASSERT_EQ(counts_of(table.full), (Counts{{{k_a, label}, 1}, {{k_a, "x"}, 1}}));
        ASSERT_EQ(counts_of(table.direct), (Counts{{{k_a, "x"}, 1}}));
    }
    EXPECT_TRUE(k_is_sanitized || resident_bytes() - before < 4 << 20);
}

TEST_F(ObserverCollectorTest, MemoryIsFlatOverThreads)
{
    std::int64_t before = 0;
    for (int i = 0; i < 1000; ++i) {
        if (i == 200) {
            before = resident_bytes();
        }
        const OperatorTable table = record([&] {
            const Scope region(*collector, k_a);
            working_thread([] { operate("x"); }).join();
        });
        ASSERT_EQ(counts_of(table.full), (Counts{{{k_a, "x"}, 1}}));
    }
    EXPECT_TRUE(k_is_sanitized || resident_bytes() - before < 4 << 20);
}

}  // namespace
}  // namespace iterscope
