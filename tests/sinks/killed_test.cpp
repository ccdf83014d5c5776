// Processes that end at random moments: no finished row is lost, no line is half.

#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "support/fakes.hpp"
#include "support/run_folder.hpp"

namespace iterscope {
namespace {

class KilledTest : public test::RunFolder {
protected:
    /// Iterates for ever and tells through `pipe` how many iterations have ended.
    [[noreturn]] static void iterate(int pipe)
    {
        Options options;
        options.save_file = true;
        Services services;
        services.warn = [](const std::string&) {};
        const auto profiler = make_profiler(options, services);
        profiler->start();
        for (std::int64_t done = 1;; ++done) {
            {
                const ScopedRegion a = profiler->track_step("a");
                const ScopedRegion late = profiler->track_step(done % 400 == 0 ? "late" : "b");
            }
            profiler->end_iteration();
            if (write(pipe, &done, sizeof done) != sizeof done) {
                _exit(1);
            }
        }
    }

    void expect_whole(std::int64_t done) const
    {
        const std::string text = read(folder / "outputs" / "run_gpu_metrics.csv");
        ASSERT_TRUE(text.ends_with('\n'));
        std::stringstream lines(text);
        std::string line;
        std::getline(lines, line);
        const auto commas = std::ranges::count(line, ',');
        std::int64_t rows = 0;
        while (std::getline(lines, line)) {
            ASSERT_EQ(std::ranges::count(line, ','), commas) << line;
            ASSERT_TRUE(line.starts_with(std::to_string(rows) + ",")) << line;
            ++rows;
        }
        EXPECT_GE(rows, done);
        EXPECT_LE(rows, done + 1);  // killed between the row and the message
    }

    void kill_at_random(int signal, unsigned seed)
    {
        std::mt19937 random(seed);
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        const pid_t child = fork();
        if (child == 0) {
            iterate(ends[1]);
        }
        close(ends[1]);
        std::int64_t done = 0;
        const std::int64_t wanted = 1 + static_cast<std::int64_t>(random() % 1500);
        while (done < wanted && ::read(ends[0], &done, sizeof done) == sizeof done) {
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
        kill(child, signal);
        std::int64_t last = 0;
        while (::read(ends[0], &last, sizeof last) == sizeof last) {
            done = last;
        }
        close(ends[0]);
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status));
        expect_whole(done);
        EXPECT_NE(read(folder / "outputs" / "run_run.json").find("\"running\""), std::string::npos);
        std::filesystem::remove_all(folder / "outputs");
    }
};

TEST_F(KilledTest, SigkillLosesNoFinishedRow)
{
    for (unsigned seed = 0; seed < 15; ++seed) {
        kill_at_random(SIGKILL, seed);
    }
}

TEST_F(KilledTest, SigtermLosesNoFinishedRow)
{
    for (unsigned seed = 100; seed < 110; ++seed) {
        kill_at_random(SIGTERM, seed);
    }
}

}  // namespace
}  // namespace iterscope
