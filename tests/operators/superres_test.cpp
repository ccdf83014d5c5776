#include "operators/superres.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include <ATen/TensorOperators.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

namespace iterscope::operators {
namespace {

double relative(const at::Tensor& a, const at::Tensor& b)
{
    return ((a - b).norm() / b.norm()).item<double>();
}

/// Precision, height, width, kernel height, kernel width, factor.
using Case = std::tuple<at::ScalarType, int, int, int, int, int>;

class SuperResolution : public testing::TestWithParam<Case> {
protected:
    void SetUp() override
    {
        const auto [type, height, width, kernel_height, kernel_width, factor] = GetParam();
        tolerance_ = type == at::kFloat ? 1e-5 : 1e-12;
        factor_ = factor;
        x_ = at::randn({2, 3, height, width}, at::TensorOptions(type));
        kernels_ = at::rand({3, kernel_height, kernel_width}, at::TensorOptions(type));
    }

    double tolerance_ = 0;
    std::int64_t factor_ = 1;
    at::Tensor x_;
    at::Tensor kernels_;
};

TEST_P(SuperResolution, CpuKernelsEqualTheComposite)
{
    const at::Tensor frames = composite::superres_forward(x_, kernels_, factor_);
    EXPECT_LT(relative(cpu::superres_forward(x_, kernels_, factor_), frames), tolerance_);
    const at::Tensor back =
        composite::superres_adjoint(frames, kernels_, factor_, x_.size(2), x_.size(3));
    EXPECT_LT(
        relative(cpu::superres_adjoint(frames, kernels_, factor_, x_.size(2), x_.size(3)), back),
        tolerance_);
    const at::Tensor normal = composite::superres_normal(x_, kernels_, factor_);
    EXPECT_LT(relative(cpu::superres_normal(x_, kernels_, factor_), normal), tolerance_);
    EXPECT_LT(relative(cpu::superres_normal_two_pass(x_, kernels_, factor_), normal), tolerance_);
    if (x_.size(2) % factor_ == 0 && x_.size(3) % factor_ == 0) {
        EXPECT_LT(relative(cpu::superres_normal_fused(x_, kernels_, factor_), normal), tolerance_);
    } else {
        EXPECT_THROW(cpu::superres_normal_fused(x_, kernels_, factor_), c10::ValueError);
    }
}

TEST_P(SuperResolution, CompositeHasAnExactTranspose)
{
    const at::Tensor frames = composite::superres_forward(x_, kernels_, factor_);
    const at::Tensor y = at::randn(frames.sizes(), frames.options());
    const at::Tensor back =
        composite::superres_adjoint(y, kernels_, factor_, x_.size(2), x_.size(3));
    const double left = (frames.to(at::kDouble) * y).sum().item<double>();
    const double right = (x_.to(at::kDouble) * back).sum().item<double>();
    const double size = (frames.norm() * y.norm()).item<double>();
    EXPECT_LT(std::abs(left - right), tolerance_ * size);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, SuperResolution,
    testing::Values(Case(at::kFloat, 32, 24, 5, 5, 2), Case(at::kDouble, 32, 24, 5, 5, 2),
                    Case(at::kDouble, 33, 31, 5, 5, 2), Case(at::kFloat, 33, 31, 4, 3, 3),
                    Case(at::kDouble, 12, 8, 4, 7, 4), Case(at::kDouble, 5, 3, 7, 9, 2),
                    Case(at::kDouble, 1, 1, 3, 3, 2), Case(at::kDouble, 6, 1, 1, 1, 5),
                    Case(at::kFloat, 64, 200, 15, 15, 2), Case(at::kDouble, 20, 20, 3, 3, 1)));

TEST(SuperResolutionSmall, AKernelOfOneElementSamplesTheImage)
{
    at::Tensor x = at::zeros({1, 1, 1, 5});
    for (std::int64_t i = 0; i < 5; ++i) {
        x[0][0][0][i].fill_(static_cast<double>(i + 1));
    }
    const at::Tensor frames = superres_forward(x, at::zeros({1, 1, 1}) + 2, 2);
    ASSERT_EQ(frames.sizes(), (std::vector<std::int64_t>{1, 1, 1, 1, 3}));
    EXPECT_EQ(frames.flatten()[0].item<float>(), 2);
    EXPECT_EQ(frames.flatten()[1].item<float>(), 6);
    EXPECT_EQ(frames.flatten()[2].item<float>(), 10);
}

TEST(SuperResolutionSmall, AnEmptyBatchIsAnEmptyResult)
{
    const at::Tensor kernels = at::rand({2, 3, 3});
    EXPECT_EQ(superres_normal(at::zeros({0, 3, 4, 4}), kernels, 2).numel(), 0);
}

}  // namespace
}  // namespace iterscope::operators
