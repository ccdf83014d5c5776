#include <iterscope/recording_window.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <vector>

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

TEST(RecordingWindow, RepeatsItsCycle)
{
    constexpr RecordingWindow window(2, 3, 2);
    std::vector<int> recorded;
    std::vector<int> ends;
    for (int i = 0; i < 15; ++i) {
        if (window.contains(i)) {
            recorded.push_back(i);
        }
        if (window.ends_cycle(i)) {
            ends.push_back(i);
        }
    }
    EXPECT_EQ(recorded, (std::vector<int>{2, 3, 4, 7, 8, 9}));
    EXPECT_EQ(ends, (std::vector<int>{4, 9}));
    EXPECT_FALSE(window.is_over(9));
    EXPECT_TRUE(window.is_over(10));
}

TEST(RecordingWindow, RepeatZeroNeverEnds)
{
    constexpr RecordingWindow window(1, 1, 0);
    EXPECT_TRUE(window.contains(1001));
    EXPECT_FALSE(window.contains(1002));
    EXPECT_FALSE(window.is_over(k_largest - 1));
}

TEST(RecordingWindow, ACycleWithoutEndIsNotRepeated)
{
    constexpr RecordingWindow window(4, 0, 3);
    EXPECT_FALSE(window.contains(3));
    EXPECT_TRUE(window.contains(1000000));
    EXPECT_FALSE(window.ends_cycle(1000000));
}

TEST(RecordingWindow, LargestRepeatsDoNotOverflow)
{
    constexpr RecordingWindow window(1, 1, k_largest);
    EXPECT_TRUE(window.contains(3));
    EXPECT_FALSE(window.is_over(k_largest - 1));
}

}  // namespace
}  // namespace iterscope
