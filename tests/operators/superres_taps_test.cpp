#include "operators/superres_taps.hpp"

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>

namespace iterscope::operators {
namespace {

TEST(Taps, TheNormalOperatorsTapsDoNotGrowWithTheFrames)
{
    const at::TensorOptions precise(at::kDouble);
    const std::int64_t one = normal_taps(at::rand({1, 5, 5}, precise) + 1, 2).count();
    const std::int64_t eight = normal_taps(at::rand({8, 5, 5}, precise) + 1, 2).count();
    EXPECT_EQ(one, eight);
    // Per axis 9 taps for one phase and 7 for the other.
    EXPECT_EQ(one, (9 + 7) * (9 + 7));
    EXPECT_EQ(normal_tap_count(5, 5, 2), one);
}

TEST(Taps, ReachCoversTheKernel)
{
    const TapTable taps = forward_taps(at::rand({1, 5, 3}, at::TensorOptions(at::kDouble)), 2);
    // Rows of the image from 2 m - 2 to 2 m + 2, in samples of phase planes.
    EXPECT_EQ(taps.rows_before, 1);
    EXPECT_EQ(taps.rows_after, 1);
    EXPECT_EQ(taps.columns_before, 1);
    EXPECT_EQ(taps.columns_after, 0);
    EXPECT_EQ(taps.count(), 15);
}

TEST(Taps, PhasesThatNoSampleReachesHaveNone)
{
    const TapTable taps = adjoint_taps(at::rand({2, 1, 1}, at::TensorOptions(at::kDouble)), 3);
    ASSERT_EQ(taps.outputs.size(), 9U);
    EXPECT_EQ(taps.outputs[0].size(), 2U);
    EXPECT_EQ(taps.count(), 2);
}

}  // namespace
}  // namespace iterscope::operators
