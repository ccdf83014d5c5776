#include "sinks/run_files.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>

#include <iterscope/error.hpp>

#include "support/run_folder.hpp"

namespace iterscope {
namespace {

class RunFilesTest : public test::RunFolder {};

TEST_F(RunFilesTest, ASecondRunOfTheSameNameGetsItsOwnStem)
{
    EXPECT_EQ(reserve_run_files("x", {}).stem, "x");
    EXPECT_EQ(reserve_run_files("x", {}).stem, "x-2");
    EXPECT_EQ(reserve_run_files("x-2", {}).stem, "x-2-2");
    EXPECT_EQ(reserve_run_files("x", {}).stem, "x-3");
}

TEST_F(RunFilesTest, RanksOfALaunchShareTheNumber)
{
    Launch launch;
    launch.size = 2;
    launch.label = "run01234567";
    for (const char* stem : {"x_run01234567", "x_run01234567-2"}) {
        for (launch.rank = 0; launch.rank < 2; ++launch.rank) {
            EXPECT_EQ(reserve_run_files("x", launch).stem,
                      stem + ("_rank" + std::to_string(launch.rank)));
        }
    }
}

TEST_F(RunFilesTest, AMetricsFileThatLostItsRunIsNotOverwritten)
{
    std::filesystem::create_directory("outputs");
    std::ofstream("outputs/x_gpu_metrics.csv") << "iter\n";
    EXPECT_EQ(reserve_run_files("x", {}).stem, "x-2");
    EXPECT_EQ(read("outputs/x_gpu_metrics.csv"), "iter\n");
}

TEST_F(RunFilesTest, AFileInPlaceOfTheFolderIsAnError)
{
    std::ofstream("outputs") << "";
    try {
        reserve_run_files("x", {});
        FAIL();
    } catch (const IoError& error) {
        EXPECT_NE(std::string(error.what()).find((folder / "outputs").string()), std::string::npos)
            << error.what();
    }
}

TEST_F(RunFilesTest, ADanglingLinkIsNoFreeName)
{
    std::filesystem::create_directory("outputs");
    std::filesystem::create_symlink("/nowhere/at/all", "outputs/x_run.json");
    EXPECT_EQ(reserve_run_files("x", {}).stem, "x-2");
}

/// Runs `body` in a child that has no special rights; 0 if it returns true.
int in_unprivileged_child(const std::function<bool()>& body)
{
    const pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(2);
        }
        _exit(body() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

TEST_F(RunFilesTest, AFolderThatCannotBeWrittenIsAnError)
{
    std::filesystem::create_directory("outputs");
    std::filesystem::permissions("outputs", std::filesystem::perms(0555));
    std::filesystem::permissions(".", std::filesystem::perms(0755));
    EXPECT_EQ(in_unprivileged_child([] {
                  try {
                      reserve_run_files("x", {});
                  } catch (const IoError& error) {
                      return std::string(error.what()).find("Permission denied") !=
                             std::string::npos;
                  }
                  return false;
              }),
              0);
}

TEST_F(RunFilesTest, ProcessesThatStartTogetherNeverShareAName)
{
    constexpr int k_processes = 8;
    constexpr int k_rounds = 20;
    for (int round = 0; round < k_rounds; ++round) {
        const std::string deep = "round" + std::to_string(round);
        std::filesystem::create_directory(deep);
        std::filesystem::current_path(deep);
        std::vector<pid_t> children;
        for (int i = 0; i < k_processes; ++i) {
            children.push_back(fork());
            if (children.back() == 0) {
                int result = 1;
                try {
                    reserve_run_files("x", {});
                    result = 0;
                } catch (const Error&) {
                }
                _exit(result);
            }
        }
        for (const pid_t child : children) {
            int status = 0;
            waitpid(child, &status, 0);
            EXPECT_EQ(status, 0);
        }
        std::set<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator("outputs")) {
            names.insert(entry.path().filename().string());
        }
        EXPECT_EQ(names.size(), static_cast<std::size_t>(k_processes));
        std::filesystem::current_path("..");
    }
}

}  // namespace
}  // namespace iterscope
