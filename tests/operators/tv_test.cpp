#include "operators/tv.hpp"

#include <gtest/gtest.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>

namespace iterscope::operators {
namespace {

class TotalVariation : public testing::TestWithParam<std::vector<std::int64_t>> {};

TEST_P(TotalVariation, CpuDifferencesEqualTheComposite)
{
    const at::Tensor x = at::randn(GetParam(), at::TensorOptions(at::kDouble));
    const at::Tensor u = composite::finite_difference(x);
    EXPECT_TRUE(cpu::finite_difference(x).equal(u));
    const at::Tensor field = at::randn(u.sizes(), u.options());
    EXPECT_TRUE(cpu::finite_difference_adjoint(field).allclose(
        composite::finite_difference_adjoint(field), 0, 1e-13));
}

TEST_P(TotalVariation, CpuStepsEqualTheComposite)
{
    const at::Tensor x = at::rand(GetParam(), at::TensorOptions(at::kDouble));
    const at::Tensor primal = at::rand(GetParam(), x.options());
    // Also where the dual variable is not 0 over the far border.
    std::vector<std::int64_t> shape = GetParam();
    shape.insert(shape.begin(), x.dim() - 2);
    const at::Tensor dual = 0.1 * at::randn(shape, x.options());
    const at::Tensor threshold = at::rand({x.size(0)}, x.options());
    for (const double tolerance : {0.0, 1e-2}) {
        const auto [x1, u1, n1] =
            cpu::tv_steps(x, primal, dual, threshold, 0.05, 1.9, 30, tolerance);
        const auto [x2, u2, n2] =
            composite::tv_steps(x, primal, dual, threshold, 0.05, 1.9, 30, tolerance);
        EXPECT_TRUE(x1.allclose(x2, 0, 1e-12));
        EXPECT_TRUE(u1.allclose(u2, 0, 1e-12));
        EXPECT_TRUE(n1.equal(n2));
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, TotalVariation,
                         testing::Values(std::vector<std::int64_t>{2, 3, 17, 23},
                                         std::vector<std::int64_t>{1, 1, 1, 1},
                                         std::vector<std::int64_t>{1, 2, 9, 1},
                                         std::vector<std::int64_t>{1, 3, 150, 130},
                                         std::vector<std::int64_t>{2, 1, 5, 6, 7},
                                         std::vector<std::int64_t>{1, 2, 1, 4, 5},
                                         std::vector<std::int64_t>{1, 1, 40, 30, 29}));

TEST(TotalVariationSteps, DoNotDependOnTheNumberOfThreads)
{
    const at::Tensor x = at::rand({1, 3, 120, 200});
    const at::Tensor dual = at::full({2, 1, 3, 120, 200}, 0.0);
    const at::Tensor threshold = at::full({1}, 0.1);
    const int before = at::get_num_threads();
    at::set_num_threads(1);
    const auto [x1, u1, n1] = cpu::tv_steps(x, x, dual, threshold, 0.01, 1.99, 50, 1e-3);
    for (const int threads : {2, 3, 4}) {
        at::set_num_threads(threads);
        const auto [x2, u2, n2] = cpu::tv_steps(x, x, dual, threshold, 0.01, 1.99, 50, 1e-3);
        EXPECT_TRUE(x1.equal(x2)) << threads;
        EXPECT_TRUE(u1.equal(u2)) << threads;
        EXPECT_TRUE(n1.equal(n2)) << threads;
    }
    at::set_num_threads(before);
}

TEST(TotalVariationSteps, RefuseWhatDoesNotFit)
{
    const at::Tensor x = at::rand({1, 1, 4, 4});
    const at::Tensor dual = at::rand({2, 1, 1, 4, 4});
    const at::Tensor threshold = at::rand({1});
    EXPECT_THROW(cpu::tv_steps(x, x, dual, at::rand({2}), 0.1, 1, 1, 0), c10::ValueError);
    EXPECT_THROW(cpu::tv_steps(x, x, at::rand({2, 1, 1, 4, 5}), threshold, 0.1, 1, 1, 0),
                 c10::ValueError);
    EXPECT_THROW(cpu::tv_steps(x, x, dual, threshold, 0, 1, 1, 0), c10::ValueError);
    EXPECT_THROW(cpu::tv_steps(x, x.to(at::kDouble), dual, threshold, 0.1, 1, 1, 0),
                 c10::TypeError);
}

}  // namespace
}  // namespace iterscope::operators
