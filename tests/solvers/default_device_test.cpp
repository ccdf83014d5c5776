#include "solvers/default_device.hpp"

#include <gtest/gtest.h>

#include <map>

#include <iterscope/error.hpp>

#include "devices/find_device.hpp"

namespace iterscope {
namespace {

using Variables = std::map<std::string, std::string>;

int gpu_of(int count, const Variables& variables, std::optional<ProcessGroup> group = {})
{
    const auto read = [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
    return own_gpu(count, discover_launch(read, group));
}

Variables torchrun(const char* local_rank)
{
    return {{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", local_rank}};
}

TEST(OwnGpu, IsTheLocalRankThatALauncherGave)
{
    EXPECT_EQ(gpu_of(4, {}), 0);
    EXPECT_EQ(gpu_of(4, torchrun("2")), 2);
    Variables slurm = {
        {"SLURM_PROCID", "7"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "3"}};
    EXPECT_EQ(gpu_of(4, slurm), 0) << "a batch script, not a step";
    slurm["SLURM_STEP_ID"] = "0";
    EXPECT_EQ(gpu_of(4, slurm), 3);
}

TEST(OwnGpu, IsTheOnlyOneThatIsShown) { EXPECT_EQ(gpu_of(1, torchrun("3")), 0); }

TEST(OwnGpu, OddLocalRanksAreNone)
{
    for (const char* odd : {"", "x", "-1", "1.0", " 1"}) {
        EXPECT_EQ(gpu_of(4, torchrun(odd)), 0) << odd;
    }
    EXPECT_EQ(gpu_of(4, {{"LOCAL_RANK", "2"}}), 0) << "left over: no launcher gave a rank";
}

TEST(OwnGpu, AGroupWithoutALauncherCountsByItsRank)
{
    EXPECT_EQ(gpu_of(4, {}, ProcessGroup{2, 4}), 2);
    EXPECT_EQ(gpu_of(4, torchrun("1"), ProcessGroup{5, 8}), 1);
}

TEST(OwnGpu, MoreRanksThanGpusAreRefused)
{
    try {
        gpu_of(2, torchrun("2"));
        FAIL() << "nothing was thrown";
    } catch (const ConfigError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("local rank 2"), std::string::npos) << text;
        EXPECT_NE(text.find("slurm_ntasks_per_node"), std::string::npos) << text;
        EXPECT_NE(text.find("slurm_gres"), std::string::npos) << text;
    }
}

TEST(SolverDevice, IsWhatWasAskedForOrWhereTheDataAre)
{
    EXPECT_EQ(solver_device("cpu", c10::kCUDA).str(), "cpu");
    if (count_devices(c10::kCUDA) == 0) {
        EXPECT_EQ(solver_device({}, c10::kCPU).str(), "cpu");
        EXPECT_THROW(solver_device("cuda", c10::kCPU), ConfigError);
    }
    EXPECT_THROW(solver_device("mtia:1", c10::kCPU), ConfigError);
    EXPECT_THROW(solver_device("meta", c10::kCPU), ConfigError);
    EXPECT_THROW(solver_device("gpu", c10::kCPU), ConfigError);
}

}  // namespace
}  // namespace iterscope
