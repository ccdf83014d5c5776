#include "sinks/run_info.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "support/fakes.hpp"
#include "support/run_folder.hpp"

namespace iterscope {
namespace {

using nlohmann::json;
using test::Bench;

class RunInfoTest : public test::RunFolder {
protected:
    json info(const char* stem = "run") const
    {
        return json::parse(read(folder / "outputs" / (std::string(stem) + "_run.json")));
    }
    static Options saved(std::string name = "run")
    {
        Options options;
        options.name = std::move(name);
        options.save_file = true;
        options.warmup = 1;
        return options;
    }
};

TEST_F(RunInfoTest, SaysWhatRunsFromTheStart)
{
    Options options = saved();
    options.parameters = {{"denoiser", std::string("tv")},
                          {"step_size", 0.5},
                          {"size", std::int64_t{64}},
                          {"clip", true},
                          {"weights", {}},
                          {"snr", std::numeric_limits<double>::infinity()}};
    Bench bench(options);
    bench.variables = {{"SLURM_JOB_ID", "12"}};
    bench.profiler->start();
    const json content = info();
    EXPECT_EQ(content["state"], "running");
    EXPECT_EQ(content["mode"], "custom");
    EXPECT_EQ(content["device"], "cpu");
    EXPECT_EQ(content["options"]["warmup"], 1);
    EXPECT_EQ(content["rank"], 0);
    EXPECT_EQ(content["size"], 1);
    EXPECT_TRUE(content["launch_id"].is_null());
    EXPECT_EQ(content["slurm"]["SLURM_JOB_ID"], "12");
    EXPECT_EQ(content["pid"], getpid());
    EXPECT_EQ(content["parameters"]["denoiser"], "tv");
    EXPECT_EQ(content["parameters"]["step_size"], 0.5);
    EXPECT_EQ(content["parameters"]["size"], 64);
    EXPECT_EQ(content["parameters"]["clip"], true);
    EXPECT_TRUE(content["parameters"]["weights"].is_null());
    EXPECT_EQ(content["parameters"]["snr"], "inf");
    EXPECT_EQ(content["versions"]["iterscope"], ITERSCOPE_VERSION);
    EXPECT_TRUE(content["start_time"].get<std::string>().ends_with("Z"));
}

TEST_F(RunInfoTest, SaysHowTheRunEnded)
{
    Bench bench(saved());
    bench.profiler->start();
    for (int i = 0; i < 4; ++i) {
        bench.spend("a", 1);
        bench.profiler->end_iteration();
    }
    bench.profiler->finalize();
    EXPECT_EQ(info()["state"], "finished");
    EXPECT_EQ(info()["iterations"], 4);
    EXPECT_EQ(info()["rows"], 3);
    EXPECT_EQ(info()["region_count"], 3);
    EXPECT_TRUE(info()["error"].is_null());
    EXPECT_TRUE(info().contains("profiler_time_sec"));
    EXPECT_GT(info()["own_cost_sec"], 0);
    ASSERT_EQ(bench.infos.size(), 1U);
    EXPECT_NE(bench.infos[0].find("3 rows"), std::string::npos);
}

TEST_F(RunInfoTest, SaysHowTheRunEndedOnAFullDisk)
{
    Bench bench(saved());
    bench.profiler->start();
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit full{std::filesystem::file_size("outputs/run_run.json"), before.rlim_max};
    std::filesystem::create_directory("outputs/run_run.json." + std::to_string(getpid()) + ".tmp");
    setrlimit(RLIMIT_FSIZE, &full);
    bench.profiler->finalize();
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(info()["state"], "finished");
}

TEST_F(RunInfoTest, KeepsTheErrorOfAFailedRun)
{
    Bench bench(saved());
    bench.profiler->start();
    bench.profiler->fail("ValueError: \"boom\" \xff");
    EXPECT_EQ(info()["state"], "failed");
    EXPECT_EQ(info()["error"], "ValueError: \"boom\" \uFFFD");
}

TEST_F(RunInfoTest, EveryRunHasAFileOfItsOwn)
{
    Bench bench(saved());
    for (const char* stem : {"run", "run-2"}) {
        bench.profiler->start();
        EXPECT_EQ(bench.profiler->run_name(), stem);
        bench.profiler->end_iteration();
        bench.profiler->end_iteration();
        bench.profiler->finalize();
        EXPECT_EQ(info(stem)["rows"], 1);
        EXPECT_EQ(info(stem)["run_name"], stem);
    }
}

TEST_F(RunInfoTest, RanksAreInNamesAndContent)
{
    Bench bench(saved("pnp"));
    bench.variables = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "abc"}};
    bench.profiler->start();
    const std::string stem = bench.profiler->run_name();
    EXPECT_TRUE(stem.starts_with("pnp_run")) << stem;
    EXPECT_TRUE(stem.ends_with("_rank1")) << stem;
    EXPECT_EQ(info(stem.c_str())["launch_id"], "run/abc");
    EXPECT_EQ(info(stem.c_str())["size"], 2);
    bench.profiler->finalize();
    EXPECT_TRUE(bench.infos.empty()) << "one line a launch, by rank 0";
}

TEST_F(RunInfoTest, AnyNameEndsUpInTheFolder)
{
    for (const std::string& name :
         {std::string("../../x"), std::string("/tmp/x"), std::string(".x"), std::string(3000, 'n'),
          std::string("a\0b", 3), std::string("r,1")}) {
        Bench bench(saved(name));
        bench.profiler->start();
        const std::string stem = bench.profiler->run_name();
        EXPECT_TRUE(std::filesystem::exists(folder / "outputs" / (stem + "_run.json")));
        EXPECT_LE(stem.size() + std::string("_gpu_metrics.csv.1234567.tmp").size(), 255U);
        EXPECT_EQ(info(stem.c_str())["name"], name);
    }
    EXPECT_EQ(outputs().size(), 12U);
}

TEST_F(RunInfoTest, WithoutSaveFileThereAreNoFiles)
{
    Options options = saved();
    options.save_file = false;
    Bench bench(options);
    bench.profiler->start();
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    EXPECT_FALSE(std::filesystem::exists("outputs"));
    EXPECT_EQ(bench.profiler->run_name(), "");
    EXPECT_TRUE(bench.infos.empty());
}

TEST_F(RunInfoTest, TheNullModeWritesNothing)
{
    Options options = saved();
    options.mode = Mode::null;
    Bench bench(options);
    bench.profiler->start();
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    EXPECT_FALSE(std::filesystem::exists("outputs"));
}

TEST_F(RunInfoTest, AForkedCopyWritesNothing)
{
    Bench bench(saved());
    bench.profiler->start();
    bench.profiler->end_iteration();
    bench.profiler->end_iteration();
    const std::string before = read("outputs/run_gpu_metrics.csv");
    const pid_t child = fork();
    if (child == 0) {
        bench.profiler->end_iteration();
        bench.profiler->finalize();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(read("outputs/run_gpu_metrics.csv"), before);
    EXPECT_EQ(info()["state"], "running");
    bench.profiler->end_iteration();
    bench.profiler->finalize();
    EXPECT_EQ(info()["rows"], 2);
}

}  // namespace
}  // namespace iterscope
