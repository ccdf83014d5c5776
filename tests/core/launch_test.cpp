#include <iterscope/launch.hpp>

#include <gtest/gtest.h>

#include <map>

namespace iterscope {
namespace {

Launch discover(std::map<std::string, std::string> variables,
                std::optional<ProcessGroup> group = {})
{
    return discover_launch(
        [&](const char* name) -> const char* {
            const auto found = variables.find(name);
            return found == variables.end() ? nullptr : found->second.c_str();
        },
        group);
}

TEST(Launch, NothingSetIsOneProcess)
{
    const Launch launch = discover({});
    EXPECT_EQ(launch.rank, 0);
    EXPECT_EQ(launch.size, 1);
    EXPECT_EQ(launch.id, "");
    EXPECT_EQ(launch.label, "");
    EXPECT_TRUE(launch.warnings.empty());
}

TEST(Launch, TorchrunGivesRankAndIdentity)
{
    const Launch launch = discover({{"RANK", "3"},
                                    {"WORLD_SIZE", "4"},
                                    {"LOCAL_RANK", "1"},
                                    {"TORCHELASTIC_RUN_ID", "6f1c"},
                                    {"TORCHELASTIC_RESTART_COUNT", "0"}});
    EXPECT_EQ(launch.rank, 3);
    EXPECT_EQ(launch.local_rank, 1);
    EXPECT_EQ(launch.size, 4);
    EXPECT_TRUE(launch.label.starts_with("run")) << launch.label;
    EXPECT_EQ(launch.label.size(), 11U);
    EXPECT_EQ(launch.id, "run/6f1c");
}

TEST(Launch, RestartsAreLaunchesOfTheirOwn)
{
    const Launch torchrun =
        discover({{"TORCHELASTIC_RUN_ID", "a"}, {"TORCHELASTIC_RESTART_COUNT", "2"}});
    EXPECT_TRUE(torchrun.label.ends_with("_restart2"));
    EXPECT_EQ(torchrun.id, "run/a_restart2");
    const Launch slurm =
        discover({{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"SLURM_RESTART_COUNT", "1"}});
    EXPECT_EQ(slurm.label, "job7.0_restart1");
}

TEST(Launch, NoneIsNoIdentity)
{
    EXPECT_EQ(discover({{"TORCHELASTIC_RUN_ID", "none"}}).id, "");
    EXPECT_EQ(discover({{"TORCHELASTIC_RUN_ID", ""}}).label, "");
}

TEST(Launch, SlurmCountsInsideAStepOnly)
{
    std::map<std::string, std::string> variables = {
        {"SLURM_JOB_ID", "12"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}};
    EXPECT_EQ(discover(variables).size, 1);
    EXPECT_EQ(discover(variables).label, "");
    variables["SLURM_STEP_ID"] = "0";
    const Launch launch = discover(variables);
    EXPECT_EQ(launch.rank, 1);
    EXPECT_EQ(launch.size, 2);
    EXPECT_EQ(launch.label, "job12.0");
    variables["SLURM_STEP_NUM_TASKS"] = "3";
    EXPECT_EQ(discover(variables).size, 3);
}

TEST(Launch, IdsCannotLeaveTheFolder)
{
    const Launch launch = discover({{"SLURM_JOB_ID", "../../esc"}, {"SLURM_STEP_ID", "0"}});
    EXPECT_EQ(launch.label.find('/'), std::string::npos);
}

TEST(Launch, AGroupWinsOverTorchrunOverSlurm)
{
    const std::map<std::string, std::string> variables = {
        {"RANK", "1"},         {"WORLD_SIZE", "2"},   {"LOCAL_RANK", "1"},  {"SLURM_STEP_ID", "0"},
        {"SLURM_JOB_ID", "5"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}};
    EXPECT_EQ(discover(variables).rank, 1);
    const Launch grouped = discover(variables, ProcessGroup{6, 8});
    EXPECT_EQ(grouped.rank, 6);
    EXPECT_EQ(grouped.size, 8);
    EXPECT_EQ(grouped.local_rank, 1);
    EXPECT_EQ(grouped.label, "job5.0");
}

TEST(Launch, ValuesThatAreNoRankAreSaidAndIgnored)
{
    for (const auto& [rank, size] : {std::pair{"2", "2"}, {"-1", "2"}, {"x", "2"}, {"0", "two"}}) {
        const Launch launch = discover({{"RANK", rank}, {"WORLD_SIZE", size}});
        EXPECT_EQ(launch.rank, 0);
        EXPECT_EQ(launch.size, 1);
        EXPECT_EQ(launch.warnings.size(), 1U);
    }
}

}  // namespace
}  // namespace iterscope
