#include <gtest/gtest.h>

#include <ATen/ThreadLocalState.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/rand.h>
#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include <iterscope/error.hpp>

#include "backends/torch/kineto_collector.hpp"
#include "backends/torch/observer_collector.hpp"

namespace iterscope {
namespace {

namespace profiler = ::torch::profiler::impl;
namespace autograd = ::torch::autograd::profiler;

constexpr RegionId k_a = 0;
const std::set<profiler::ActivityType> k_cpu{profiler::ActivityType::CPU};

/// What torch.profiler does.
struct UsersProfiler {
    profiler::ProfilerConfig config{profiler::ProfilerState::KINETO};

    void prepare() const { autograd::prepareProfiler(config, k_cpu); }
    void enable() const { autograd::enableProfiler(config, k_cpu); }
    static std::unique_ptr<autograd::ProfilerResult> stop() { return autograd::disableProfiler(); }
};

void work()
{
    static const at::Tensor x = at::rand({8});
    at::add(x, x);
}

std::int64_t additions(const std::unique_ptr<autograd::ProfilerResult>& result)
{
    return std::ranges::count_if(result->events(),
                                 [](const auto& event) { return event.name() == "aten::add"; });
}

/// One iteration; how often `aten::add` was seen in it.
std::int64_t iterate(KinetoCollector& collector, OperatorTable& table)
{
    collector.begin_iteration(0);
    collector.enter(k_a);
    work();
    collector.leave(k_a);
    collector.end_iteration(table);
    for (const OperatorRow& row : table.direct) {
        if (row.name == "aten::add") {
            return row.stats.count;
        }
    }
    return 0;
}

bool nothing_is_on()
{
    KinetoCollector probe(c10::kCPU);
    try {
        probe.open();
    } catch (const UsageError&) {
        return false;
    }
    return c10::ThreadLocalDebugInfo::current() == nullptr;
}

TEST(KinetoNeighbours, AProfilerThatTheUserRunsKeepsItsData)
{
    const UsersProfiler users;
    users.prepare();
    users.enable();
    KinetoCollector collector(c10::kCPU);
    EXPECT_THROW(collector.open(), UsageError);
    work();
    EXPECT_EQ(additions(UsersProfiler::stop()), 1);

    collector.open();  // a retry works
    OperatorTable table;
    EXPECT_EQ(iterate(collector, table), 1);
    collector.close();
    EXPECT_TRUE(nothing_is_on());
}

TEST(KinetoNeighbours, AProfilerThatIsPreparedOrOnAnotherThreadIsSeen)
{
    const UsersProfiler users;
    KinetoCollector collector(c10::kCPU);
    users.prepare();
    EXPECT_THROW(collector.open(), UsageError);
    users.enable();
    std::thread([&] { EXPECT_THROW(collector.open(), UsageError); }).join();
    work();
    EXPECT_EQ(additions(UsersProfiler::stop()), 1);
    EXPECT_TRUE(nothing_is_on());
}

TEST(KinetoNeighbours, OneThatBeginsBetweenStartAndTheWindowKeepsItsData)
{
    const UsersProfiler users;
    KinetoCollector collector(c10::kCPU);
    collector.open();
    users.prepare();
    users.enable();
    OperatorTable table;
    EXPECT_EQ(iterate(collector, table), 0);
    EXPECT_TRUE(table.is_partial);
    EXPECT_EQ(table.regions.size(), 1U);
    EXPECT_EQ(additions(UsersProfiler::stop()), 1);
    EXPECT_EQ(iterate(collector, table), 1);
    EXPECT_FALSE(table.is_partial);
    collector.close();
    EXPECT_TRUE(nothing_is_on());
}

TEST(KinetoNeighbours, OneThatIsStartedInsideGetsPyTorchsOwnError)
{
    const UsersProfiler users;
    KinetoCollector collector(c10::kCPU);
    collector.open();
    OperatorTable table;
    collector.begin_iteration(0);
    collector.enter(k_a);
    work();
    EXPECT_THROW(users.prepare(), std::exception);
    collector.leave(k_a);
    collector.end_iteration(table);
    EXPECT_EQ(iterate(collector, table), 1);
    EXPECT_FALSE(table.is_partial);
    collector.close();
    EXPECT_TRUE(nothing_is_on());
}

TEST(KinetoNeighbours, NobodyElseCanStopOurs)
{
    KinetoCollector collector(c10::kCPU);
    collector.open();
    OperatorTable table;
    collector.begin_iteration(0);
    work();
    EXPECT_THROW(UsersProfiler::stop(), std::exception);
    collector.enter(k_a);
    work();
    collector.leave(k_a);
    collector.end_iteration(table);
    EXPECT_EQ(iterate(collector, table), 1);
    EXPECT_FALSE(table.is_partial);
    collector.close();
    EXPECT_TRUE(nothing_is_on());
}

struct Stranger : c10::DebugInfoBase {};

TEST(KinetoNeighbours, DebugInfoThatIsNotOursEndsTheCollectionAndIsLeftAlone)
{
    KinetoCollector collector(c10::kCPU);
    collector.open();
    OperatorTable table;
    collector.begin_iteration(0);
    collector.enter(k_a);
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::TEST_INFO, std::make_shared<Stranger>());
    collector.leave(k_a);
    collector.end_iteration(table);
    EXPECT_TRUE(table.is_partial);
    EXPECT_NE(c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::TEST_INFO), nullptr);
    EXPECT_EQ(iterate(collector, table), 0);  // ours is still below
    EXPECT_TRUE(table.is_partial);
    c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::TEST_INFO);
    EXPECT_EQ(iterate(collector, table), 1);
    EXPECT_FALSE(table.is_partial);
    collector.close();
    EXPECT_TRUE(nothing_is_on());
}

TEST(KinetoNeighbours, TheTwoCollectorsSeeEachOther)
{
    KinetoCollector kineto(c10::kCPU);
    ObserverCollector observer(c10::kCPU);
    kineto.open();
    kineto.begin_iteration(0);
    EXPECT_THROW(observer.open(), UsageError);
    kineto.close();
    observer.open();
    observer.begin_iteration(0);
    EXPECT_THROW(kineto.open(), UsageError);
    observer.close();
    EXPECT_TRUE(nothing_is_on());
}

TEST(KinetoNeighbours, NothingIsPrinted)
{
    if (std::getenv("KINETO_LOG_LEVEL") != nullptr) {
        GTEST_SKIP() << "KINETO_LOG_LEVEL is set";
    }
    KinetoCollector collector(c10::kCPU);
    OperatorTable table;
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    collector.open();
    iterate(collector, table);
    iterate(collector, table);
    collector.close();
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

/// Kineto has freed the events of an iteration that is over; what ends later must not touch them.
/// (They are overwritten with freed memory's bytes under MALLOC_PERTURB_, and a touch crashes.)
TEST(KinetoNeighbours, WorkMayOutliveItsIteration)
{
    KinetoCollector collector(c10::kCPU);
    collector.open();
    OperatorTable table;
    for (int i = 0; i < 100; ++i) {
        collector.begin_iteration(i);
        collector.enter(k_a);
        std::vector<std::unique_ptr<at::RecordFunction>> running;
        for (const at::RecordScope scope :
             {at::RecordScope::USER_SCOPE, at::RecordScope::FUNCTION}) {
            for (const bool is_asynchronous : {true, false}) {
                running.push_back(std::make_unique<at::RecordFunction>(scope));
                if (is_asynchronous) {
                    running.back()->_setAsync();
                }
                running.back()->before("running");
            }
        }
        const at::ThreadLocalState state;
        collector.leave(k_a);
        collector.end_iteration(table);
        if (i % 2 == 0) {
            collector.begin_iteration(i);  // another recording is on when they end
        }
        std::thread([&] {
            const at::ThreadLocalStateGuard guard(state);
            running[0].reset();
            running[2].reset();
            work();
        }).join();
        running.clear();
        work();
        if (i % 2 == 0) {
            collector.end_iteration(table);
            EXPECT_FALSE(table.is_partial);
        }
    }
    EXPECT_GE(collector.late_events(), 100 * 5);
    EXPECT_EQ(iterate(collector, table), 1);
    collector.close();
    EXPECT_TRUE(nothing_is_on());
}

TEST(KinetoNeighbours, ThreadsMayWorkWhileIterationsEnd)
{
    KinetoCollector collector(c10::kCPU);
    collector.open();
    OperatorTable table;
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 200; ++i) {
        collector.begin_iteration(i);
        collector.enter(k_a);
        if (i < 2) {
            threads.emplace_back([state = at::ThreadLocalState(), &is_over] {
                const at::ThreadLocalStateGuard guard(state);
                while (!is_over) {
                    work();
                }
            });
        }
        work();
        collector.leave(k_a);
        collector.end_iteration(table);
        EXPECT_FALSE(table.is_partial);
    }
    is_over = true;
    for (std::thread& thread : threads) {
        thread.join();
    }
    collector.close();
    EXPECT_TRUE(nothing_is_on());
}

TEST(KinetoNeighbours, DroppingTheCollectorEndsEverything)
{
    {
        KinetoCollector collector(c10::kCPU);
        collector.open();
        collector.begin_iteration(0);
        collector.enter(k_a);
        work();
    }
    EXPECT_TRUE(nothing_is_on());
}

std::int64_t resident_kib()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) {
            return std::stoll(line.substr(6));
        }
    }
    return 0;
}

TEST(KinetoNeighbours, AThousandIterationsLeaveNothingBehind)
{
    KinetoCollector collector(c10::kCPU);
    collector.open();
    OperatorTable table;
    std::int64_t before = 0;
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(iterate(collector, table), 1);
        if (i == 200) {
            before = resident_kib();
        }
    }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(resident_kib() - before, 2048);  // sanitizers keep what is freed
#endif
    collector.close();
    EXPECT_TRUE(nothing_is_on());
}

}  // namespace
}  // namespace iterscope
