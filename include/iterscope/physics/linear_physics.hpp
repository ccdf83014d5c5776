#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace iterscope {

/// What an operator produces: one tensor an acquisition.
using Measurements = std::vector<at::Tensor>;

/// How `LinearPhysics::pseudo_inverse` stops.
struct InverseOptions {
    std::int64_t max_iterations = 50;
    /// An image of the batch is done once |A^T(y - A x)| <= tolerance |A^T y|.
    double tolerance = 1e-5;
    /// Where to begin; undefined for 0, which leads to the solution of smallest norm.
    at::Tensor start = {};
};

/// A linear measurement operator A. Images are [batch, channels, ...]; operators act on every image
/// of a batch for itself.
///
/// Derive from it and give forward() and adjoint(); the rest has defaults. All functions may be
/// called from several threads at once.
class LinearPhysics {
public:
    LinearPhysics() = default;
    virtual ~LinearPhysics() = default;
    LinearPhysics(const LinearPhysics&) = delete;
    LinearPhysics& operator=(const LinearPhysics&) = delete;

    /// A x: as many tensors as measurement_count() says.
    virtual Measurements forward(const at::Tensor& x) const = 0;
    /// A^T y, the exact transpose of forward().
    virtual at::Tensor adjoint(const Measurements& y) const = 0;
    /// Tensors that forward() returns and adjoint() takes; operators that have several override it.
    virtual std::int64_t measurement_count() const { return 1; }
    /// A^T A x. Operators that can do it in one pass override it.
    virtual at::Tensor normal(const at::Tensor& x) const;

    /// Largest eigenvalue of A^T A, to 1 % or better, from a fixed start of its own: independent of
    /// the global random numbers and of the batch. `like` is an image of the right shape, dtype and
    /// device, whose values do not matter; operators with a formula do not need it, others throw
    /// ConfigError without it. 0 for a zero operator.
    /// By default: Golub-Kahan-Lanczos bidiagonalisation (Golub and Kahan, 1965).
    virtual double norm_squared(const at::Tensor& like = {}) const;
    /// Largest singular value of A: the square root of norm_squared().
    double norm(const at::Tensor& like = {}) const;

    /// Least-squares solution of A x = y, by conjugate gradients on the normal equations with steps
    /// of their own for every image of the batch: they do not influence each other. An image whose
    /// measurements hold NaN or infinity comes back as NaN, with a warning. Throws UsageError when
    /// adjoint() is plainly not the transpose of forward().
    virtual at::Tensor pseudo_inverse(const Measurements& y,
                                      const InverseOptions& options = {}) const;
};

}  // namespace iterscope
