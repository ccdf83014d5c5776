#include "core/run_name.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace iterscope {
namespace {

TEST(SafeFileName, OrdinaryNamesStayAsTheyAre)
{
    for (const char* name : {"pnp", "pnp_custom-2", "a b", "r,1", "r=0.5 (x)", "été", "日本"}) {
        EXPECT_EQ(safe_file_name(name), name);
    }
    EXPECT_EQ(safe_file_name(""), "run");
}

TEST(SafeFileName, CannotLeaveTheFolderOrHide)
{
    EXPECT_EQ(safe_file_name("../x"), "%2e.%2fx");
    EXPECT_EQ(safe_file_name("/etc/passwd"), "%2fetc%2fpasswd");
    EXPECT_EQ(safe_file_name(".hidden"), "%2ehidden");
    EXPECT_EQ(safe_file_name(".."), "%2e.");
    EXPECT_EQ(safe_file_name("-rf"), "%2drf");
    EXPECT_EQ(safe_file_name(std::string("a\0b\n", 4)), "a%00b%0a");
}

TEST(SafeFileName, BytesThatAreNoTextAreKeptApart)
{
    EXPECT_EQ(safe_file_name("\xff"), "%ff");
    EXPECT_EQ(safe_file_name("\xc3"), "%c3");
    EXPECT_EQ(safe_file_name("\xed\xa0\x80"), "%ed%a0%80");
}

TEST(SafeFileName, LongNamesAreCutAtACharacterAndStayDifferent)
{
    std::set<std::string> names;
    for (int length = 100; length < 3000; length += 97) {
        const std::string name = safe_file_name(std::string(static_cast<std::size_t>(length), 'x'));
        EXPECT_LE(name.size(), 128U);
        names.insert(name);
    }
    EXPECT_EQ(names.size(), 30U);

    std::string wide;
    for (int i = 0; i < 100; ++i) {
        wide += "日";
    }
    const std::string cut = safe_file_name(wide);
    EXPECT_EQ((cut.find("%~")) % 3, 0U);
}

TEST(SafeFileName, RandomNamesNeverCollideAndNeverHoldASeparator)
{
    std::mt19937 random(0);
    const std::string letters = "ab%/.\\~-_2e5 \n";
    std::set<std::string> names;
    std::set<std::string> safe;
    for (int i = 0; i < 20000; ++i) {
        std::string name = "n";
        const std::size_t length = random() % 6;
        for (std::size_t k = 0; k < length; ++k) {
            name += letters[random() % letters.size()];
        }
        names.insert(name);
    }
    for (const std::string& name : names) {
        safe.insert(safe_file_name(name));
        EXPECT_EQ(safe_file_name(name).find('/'), std::string::npos);
    }
    EXPECT_EQ(safe.size(), names.size());
}

TEST(RunStem, ShowsLaunchAttemptAndRankWhereTheyMatter)
{
    Launch launch;
    EXPECT_EQ(run_stem("pnp", launch, 1), "pnp");
    EXPECT_EQ(run_stem("pnp", launch, 2), "pnp-2");
    launch.label = "run0123abcd";
    EXPECT_EQ(run_stem("pnp", launch, 1), "pnp");
    launch.size = 4;
    launch.rank = 3;
    EXPECT_EQ(run_stem("pnp", launch, 1), "pnp_run0123abcd_rank3");
    EXPECT_EQ(run_stem("pnp", launch, 12), "pnp_run0123abcd-12_rank3");
    launch = {};
    launch.label = "job7.0_restart1";
    launch.is_slurm_step = true;
    EXPECT_EQ(run_stem("pnp", launch, 1), "pnp_job7.0_restart1");
}

}  // namespace
}  // namespace iterscope
