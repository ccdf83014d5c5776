#include <iterscope/physics/linear_physics.hpp>

#include <gtest/gtest.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_matrix_norm.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <iterscope/error.hpp>
#include <iterscope/physics/denoising.hpp>
#include <iterscope/physics/stacked_physics.hpp>

#include "physics/matrix_physics.hpp"

namespace iterscope {
namespace {

using test::MatrixPhysics;
const at::TensorOptions k_double(at::kDouble);

TEST(LinearPhysics, NormIsTheLargestSingularValue)
{
    for (const std::int64_t columns : {1, 2, 7, 40}) {
        const at::Tensor matrix = at::randn({13, columns}, k_double);
        const MatrixPhysics physics(matrix);
        const double expected = at::linalg_matrix_norm(matrix, 2.0).item<double>();
        const at::Tensor like = at::zeros({3, columns}, k_double);
        EXPECT_NEAR(physics.norm(like), expected, 1e-5 * expected) << columns;
        EXPECT_NEAR(physics.norm_squared(like), expected * expected, 1e-4 * expected * expected);
    }
}

TEST(LinearPhysics, NormOfAClusteredSpectrumIsWithinOnePercent)
{
    // Many eigenvalues just below the largest one, as a blur has.
    at::Tensor values = at::zeros({2000}, k_double);
    for (std::int64_t i = 0; i < 2000; ++i) {
        const double t = static_cast<double>(i) / 2000;
        values[i].fill_(1 - t * t);
    }
    EXPECT_NEAR(MatrixPhysics(values.diag()).norm_squared(at::zeros({1, 2000}, k_double)), 1, 1e-2);
}

TEST(LinearPhysics, NormWithoutAnExampleThrows)
{
    EXPECT_THROW(MatrixPhysics(at::eye(2)).norm(), ConfigError);
}

TEST(LinearPhysics, NormOfANonFiniteOperatorThrows)
{
    const at::Tensor matrix = at::eye(2) / 0.0;
    EXPECT_THROW(MatrixPhysics(matrix).norm(at::zeros({1, 2})), ConfigError);
}

TEST(PseudoInverse, OfABatchSolvesEachImageForItself)
{
    const at::Tensor matrix = at::randn({9, 4}, k_double);
    const MatrixPhysics physics(matrix);
    at::Tensor x = at::randn({3, 4}, k_double);
    x[1].zero_();
    x[2].mul_(1e8);
    InverseOptions options;
    options.tolerance = 1e-13;
    const at::Tensor solution = physics.pseudo_inverse(physics.forward(x), options);
    EXPECT_TRUE(solution.allclose(x, 1e-8, 0));
    options.start = x;
    EXPECT_TRUE(physics.pseudo_inverse(physics.forward(x), options).equal(x));
}

TEST(PseudoInverse, OfAWrongAdjointThrows)
{
    const at::Tensor matrix = at::randn({4, 4}, k_double);
    const MatrixPhysics physics(matrix, 2 * matrix.t());
    EXPECT_THROW(physics.pseudo_inverse({at::randn({1, 4}, k_double)}), UsageError);
}

TEST(PseudoInverse, RefusesWrongOptions)
{
    const MatrixPhysics physics(at::eye(2));
    EXPECT_THROW(physics.pseudo_inverse({at::zeros({1, 2})}, {.max_iterations = -1}), ConfigError);
    EXPECT_THROW(physics.pseudo_inverse({at::zeros({1, 2})}, {.start = at::zeros({2, 2})}),
                 ConfigError);
    EXPECT_THROW(physics.pseudo_inverse({}), ConfigError);
}

TEST(StackedPhysics, AddsOverItsOperators)
{
    const auto first = std::make_shared<MatrixPhysics>(at::randn({3, 4}, k_double));
    const auto second =
        std::make_shared<StackedPhysics>(std::vector<std::shared_ptr<const LinearPhysics>>(
            {std::make_shared<Denoising>(),
             std::make_shared<MatrixPhysics>(at::eye(4, k_double))}));
    const StackedPhysics stack({first, second});
    ASSERT_EQ(stack.measurement_count(), 3);
    const at::Tensor x = at::randn({2, 4}, k_double);
    const at::Tensor expected = first->normal(x) + 2 * x;
    EXPECT_TRUE(stack.normal(x).allclose(expected));
    EXPECT_TRUE(stack.adjoint(stack.forward(x)).allclose(expected));
    EXPECT_THROW(stack.adjoint({x}), ConfigError);
    EXPECT_THROW(StackedPhysics({}), ConfigError);
    EXPECT_THROW(StackedPhysics({nullptr}), ConfigError);
}

}  // namespace
}  // namespace iterscope
