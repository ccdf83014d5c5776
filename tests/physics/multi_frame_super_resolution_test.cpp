#include <iterscope/physics/multi_frame_super_resolution.hpp>

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <iterscope/error.hpp>
#include <iterscope/physics/gaussian_kernels.hpp>
#include <iterscope/physics/noise.hpp>

#include "operators/superres.hpp"
#include "physics/largest_singular_value.hpp"
#include "physics/polyphase_spectrum.hpp"

namespace iterscope {
namespace {

TEST(MultiFrameSuperResolution, ByTheFftEqualsDirect)
{
    for (const std::int64_t factor : {1, 2, 3}) {
        const at::Tensor kernels = at::rand({3, 5, 4}, at::TensorOptions(at::kDouble));
        const at::Tensor x = at::randn({2, 2, 12, 18}, at::TensorOptions(at::kDouble));
        const physics::PolyphaseSpectrum spectrum(kernels, {12, 18}, factor, x);
        EXPECT_TRUE(
            spectrum.normal(x).allclose(operators::superres_normal(x, kernels, factor), 0, 1e-10));
        const at::Tensor single = x.to(at::kFloat);
        const physics::PolyphaseSpectrum small(kernels, {12, 18}, factor, single);
        EXPECT_TRUE(small.normal(single).allclose(spectrum.normal(x).to(at::kFloat), 1e-5, 1e-3));
    }
}

TEST(MultiFrameSuperResolution, FormulaForTheNormEqualsLanczos)
{
    const at::Tensor kernels = gaussian_kernels(4, 5, {1.0, 2.0});
    const MultiFrameSuperResolution physics({24, 32}, kernels, 2);
    const at::Tensor like = at::zeros({1, 1, 24, 32}, at::TensorOptions(at::kDouble));
    EXPECT_NEAR(physics.norm(), physics::largest_singular_value(physics, like),
                1e-3 * physics.norm());
}

TEST(MultiFrameSuperResolution, AFlatImageIsAveragedByGaussians)
{
    const MultiFrameSuperResolution physics({7, 9}, gaussian_kernels(2), 2);
    const Measurements y = physics.forward(at::zeros({1, 1, 7, 9}) + 3);
    ASSERT_EQ(y.size(), 2U);
    EXPECT_EQ(y[0].sizes(), (std::vector<std::int64_t>{1, 1, 4, 5}));
    EXPECT_TRUE(y[1].allclose(at::zeros({1, 1, 4, 5}) + 3));
}

TEST(MultiFrameSuperResolution, RefusesWrongArguments)
{
    const at::Tensor kernels = gaussian_kernels(1);
    EXPECT_THROW(MultiFrameSuperResolution({0, 4}, kernels), ConfigError);
    EXPECT_THROW(MultiFrameSuperResolution({4, 4}, kernels, 0), ConfigError);
    EXPECT_THROW(MultiFrameSuperResolution({4, 4}, kernels[0]), ConfigError);
    EXPECT_THROW(MultiFrameSuperResolution({4, 4}, kernels).forward(at::zeros({1, 1, 4, 5})),
                 ConfigError);
    EXPECT_THROW(gaussian_kernels(1, 5, {1.0, 0.0}), ConfigError);
}

TEST(Noise, IsTheSameInBothPrecisions)
{
    const at::Tensor y = at::zeros({50});
    const at::Tensor single = add_gaussian_noise({y}, 0.5, 7)[0];
    const at::Tensor twice = add_gaussian_noise({y.to(at::kDouble)}, 0.5, 7)[0];
    EXPECT_TRUE(single.to(at::kDouble).allclose(twice, 1e-6, 1e-6));
    EXPECT_THROW(add_gaussian_noise({y}, -0.1, 0), ConfigError);
}

}  // namespace
}  // namespace iterscope
