#include <iterscope/denoisers/tv_denoiser.hpp>

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include <iterscope/denoisers/make_denoiser.hpp>
#include <iterscope/error.hpp>

namespace iterscope {
namespace {

TEST(TVDenoiser, RemovesNoiseFromAStep)
{
    at::Tensor step = at::zeros({1, 1, 32, 32});
    step.slice(2, 16).fill_(1);
    const at::Tensor noisy = step + 0.1 * (at::rand(step.sizes()) - 0.5);
    TVDenoiser denoiser;
    const at::Tensor result = denoiser.denoise(noisy, 0.05);
    EXPECT_LT((result - step).norm().item<double>(), 0.5 * (noisy - step).norm().item<double>());
    EXPECT_GT(denoiser.iterations()[0].item<std::int64_t>(), 3);
}

TEST(TVDenoiser, NoIterationsAreNoChange)
{
    const at::Tensor x = at::rand({1, 1, 4, 4});
    EXPECT_TRUE(TVDenoiser({.max_iterations = 0}).denoise(x, 0.1).equal(x));
}

TEST(TVDenoiser, StateIsForgottenOnAnotherShape)
{
    const at::Tensor x = at::rand({1, 1, 8, 8});
    TVDenoiser denoiser({.max_iterations = 4});
    const at::Tensor first = denoiser.denoise(x, 0.1);
    denoiser.denoise(at::rand({1, 1, 8, 9}), 0.1);
    EXPECT_TRUE(denoiser.denoise(x, 0.1).equal(first));
}

TEST(TotalVariation, OfAStepIsItsArea)
{
    at::Tensor x = at::zeros({2, 1, 8, 8, 8});
    x[0].slice(1, 4).fill_(1);
    const at::Tensor value = total_variation(x);
    EXPECT_EQ(value[0].item<double>(), 64);
    EXPECT_EQ(value[1].item<double>(), 0);
}

TEST(MakeDenoiser, KnowsTv)
{
    EXPECT_NE(make_denoiser("tv"), nullptr);
    EXPECT_THROW(make_denoiser("drunet"), ConfigError);
    EXPECT_THROW(make_denoiser(""), ConfigError);
}

}  // namespace
}  // namespace iterscope
