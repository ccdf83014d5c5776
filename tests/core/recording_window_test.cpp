#include <iterscope/recording_window.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace iterscope {
namespace {

constexpr std::int64_t k_largest = std::numeric_limits<std::int64_t>::max();

TEST(RecordingWindow, HoldsWarmupToWarmupPlusActive)
{
    constexpr RecordingWindow window(2, 3);
    EXPECT_FALSE(window.contains(1));
    EXPECT_TRUE(window.contains(2));
    EXPECT_TRUE(window.contains(4));
    EXPECT_FALSE(window.contains(5));
    EXPECT_FALSE(window.is_over(4));
    EXPECT_TRUE(window.is_over(5));
}

TEST(RecordingWindow, ActiveZeroNeverEnds)
{
    constexpr RecordingWindow window(1, 0);
    EXPECT_FALSE(window.contains(0));
    EXPECT_TRUE(window.contains(k_largest - 1));
    EXPECT_FALSE(window.is_over(k_largest - 1));
}

TEST(RecordingWindow, LargestCountsDoNotOverflow)
{
    constexpr RecordingWindow window(k_largest - 1, k_largest);
    EXPECT_FALSE(window.contains(0));
    EXPECT_TRUE(window.contains(k_largest - 1));
}

}  // namespace
}  // namespace iterscope
