#include "sinks/metrics_csv.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "support/fakes.hpp"
#include "support/run_folder.hpp"

namespace iterscope {
namespace {

using test::Bench;

Options saved(const char* name = "run")
{
    Options options;
    options.name = name;
    options.save_file = true;
    return options;
}

class MetricsCsvTest : public test::RunFolder {
protected:
    std::string csv() const { return read(folder / "outputs" / "run_gpu_metrics.csv"); }
};

TEST_F(MetricsCsvTest, HoldsEveryRowWhenEndIterationReturns)
{
    Bench bench(saved());
    bench.profiler->start();
    EXPECT_EQ(csv(), "iter,total_time_sec,max_gpu_mb\n");
    bench.spend("a", 20);
    bench.profiler->end_iteration();
    EXPECT_EQ(csv(), "iter,total_time_sec,max_gpu_mb,a_time_sec,a_max_gpu_mb\n0,0.02,0,0.02,0\n");
    bench.spend("a", 5);
    bench.profiler->end_iteration();
    EXPECT_EQ(csv(),
              "iter,total_time_sec,max_gpu_mb,a_time_sec,a_max_gpu_mb\n"
              "0,0.02,0,0.02,0\n"
              "1,0.005,0,0.005,0\n");
}

TEST_F(MetricsCsvTest, LateRegionsAddColumnsAndOldRowsGetEmptyCells)
{
    Bench bench(saved());
    bench.profiler->start();
    bench.spend("a", 1);
    bench.profiler->end_iteration();
    bench.spend("a", 1);
    bench.spend("b", 2);
    bench.profiler->end_iteration();
    bench.spend("b", 3);
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    EXPECT_EQ(csv(),
              "iter,total_time_sec,max_gpu_mb,a_time_sec,a_max_gpu_mb,b_time_sec,b_max_gpu_mb\n"
              "0,0.001,0,0.001,0,,\n"
              "1,0.003,0,0.001,0,0.002,0\n"
              "2,0.003,0,,,0.003,0\n");
    EXPECT_EQ(outputs(), (std::vector<std::string>{"run_gpu_metrics.csv", "run_run.json"}));
}

TEST_F(MetricsCsvTest, NamesAreQuoted)
{
    Bench bench(saved());
    bench.profiler->start();
    bench.spend("a,b \"q\"\nz", 1);
    bench.profiler->end_iteration();
    bench.spend("late", 1);
    bench.profiler->end_iteration();
    EXPECT_EQ(csv(),
              "iter,total_time_sec,max_gpu_mb,\"a,b \"\"q\"\"\nz_time_sec\",\"a,b \"\"q\"\"\n"
              "z_max_gpu_mb\",late_time_sec,late_max_gpu_mb\n"
              "0,0.001,0,0.001,0,,\n1,0.001,0,,,0.001,0\n");
}

TEST_F(MetricsCsvTest, AFileLargerThanOneBlockIsWidenedWhole)
{
    Bench bench(saved());
    bench.profiler->start();
    for (int i = 0; i < 20000; ++i) {
        bench.spend("a", 1);
        bench.profiler->end_iteration();
    }
    bench.spend("b", 1);
    bench.profiler->end_iteration();
    const std::string text = csv();
    EXPECT_EQ(std::ranges::count(text, '\n'), 20002);
    EXPECT_NE(text.find("\n19999,0.001,0,0.001,0,,\n20000,0.001,0,,,0.001,0\n"), std::string::npos);
}

TEST_F(MetricsCsvTest, AChangeOfDirectoryDoesNotMoveTheRun)
{
    Bench bench(saved());
    bench.profiler->start();
    std::filesystem::create_directory("elsewhere");
    std::filesystem::current_path("elsewhere");
    bench.spend("a", 1);
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    EXPECT_EQ(std::ranges::count(csv(), '\n'), 2);
    EXPECT_FALSE(std::filesystem::exists("outputs"));
}

/// A limit on the size of files stands for a full disk: writing fails the same way, also for
/// root. The size is restored at the end of the scope.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN))
    {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit()
    {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

private:
    rlimit before_{};
    void (*handler_)(int);
};

TEST_F(MetricsCsvTest, AFullDiskLosesRowsWithOneWarningAndLeavesNoHalfLine)
{
    Bench bench(saved());
    bench.profiler->start();
    for (int i = 0; i < 3; ++i) {
        bench.spend("a", 1);
        bench.profiler->end_iteration();
    }
    const std::string before = csv();
    {
        const FileSizeLimit full(before.size() + 5);
        for (int i = 0; i < 3; ++i) {
            bench.spend("a", 1);
            bench.profiler->end_iteration();
            EXPECT_EQ(bench.metric("a_time_sec"), 0.001);
        }
        EXPECT_EQ(csv(), before);
    }
    bench.spend("a", 1);
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    EXPECT_EQ(csv(), before + "6,0.001,0,0.001,0\n");
    EXPECT_EQ(bench.warnings.size(), 1U);
    EXPECT_EQ(bench.sink->last_summary.rows_lost, 3);
}

TEST_F(MetricsCsvTest, AFullDiskDuringWideningKeepsTheOldColumns)
{
    Bench bench(saved());
    bench.profiler->start();
    bench.spend("a", 1);
    bench.profiler->end_iteration();
    {
        const FileSizeLimit full(csv().size() + 20);
        bench.spend("a", 1);
        bench.spend("b", 1);
        bench.profiler->end_iteration();
    }
    bench.spend("b", 1);
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    EXPECT_EQ(csv(),
              "iter,total_time_sec,max_gpu_mb,a_time_sec,a_max_gpu_mb\n"
              "0,0.001,0,0.001,0\n1,0.002,0,0.001,0\n2,0.001,0,,\n");
    EXPECT_EQ(bench.warnings.size(), 1U);
    EXPECT_EQ(bench.sink->last_summary.rows_lost, 0);
    EXPECT_EQ(outputs().size(), 2U) << "the part of a new file is gone";
}

TEST_F(MetricsCsvTest, WideningNeedsNoSecondOpen)
{
    // Files that are made from now on cannot be opened for writing again, except by root.
    const mode_t before = umask(0222);
    Bench bench(saved());
    bench.profiler->start();
    for (int i = 0; i < 3; ++i) {
        bench.spend(i == 1 ? "b" : "a", 1);
        bench.profiler->end_iteration();
    }
    umask(before);
    bench.profiler->finalize();
    EXPECT_EQ(std::ranges::count(csv(), '\n'), 4);
    EXPECT_EQ(bench.sink->last_summary.rows_lost, 0);
}

TEST_F(MetricsCsvTest, RegionNamesWithACounterStopAddingColumns)
{
    Bench bench(saved());
    bench.profiler->start();
    for (int i = 0; i < 1100; ++i) {
        bench.spend(("step " + std::to_string(i)).c_str(), 1);
        bench.profiler->end_iteration();
    }
    ASSERT_EQ(bench.warnings.size(), 1U);
    EXPECT_NE(bench.warnings[0].find("counters"), std::string::npos);
    EXPECT_EQ(std::ranges::count(csv(), '\n'), 1101);
}

TEST_F(MetricsCsvTest, FilesThatAreRemovedDuringTheRunAreSaid)
{
    Bench bench(saved());
    bench.profiler->start();
    bench.profiler->end_iteration();
    std::filesystem::remove_all("outputs");
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    EXPECT_TRUE(bench.infos.empty());
    EXPECT_FALSE(bench.warnings.empty());
}

TEST_F(MetricsCsvTest, ALimitOnFileSizesDoesNotKillTheProgram)
{
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_DFL);
        Bench bench(saved());
        bench.profiler->start();
        const rlimit limit{20, RLIM_INFINITY};
        setrlimit(RLIMIT_FSIZE, &limit);
        for (int i = 0; i < 3; ++i) {
            bench.profiler->end_iteration();
        }
        bench.profiler->finalize();
        _exit(bench.warnings.empty() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace iterscope
