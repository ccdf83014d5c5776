#include "physics/conjugate_gradient.hpp"

#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>

#include <iterscope/error.hpp>

#include "operators/real_tensor.hpp"
#include "physics/measurements.hpp"

namespace iterscope::physics {

namespace {

constexpr const char* k_unmatched =
    "conjugate gradients cannot go on (adjoint() is not the transpose of forward(): <A p, A p> and "
    "<p, A^T A p> differ, or A^T A is not positive); compare <A x, y> with <x, A^T y> for random x "
    "and y, and mend the operator.";

/// Relative difference of the two inner products that rounding cannot explain.
constexpr double k_mismatch = 1e-2;

/// One value an image, shaped to multiply a batch of images.
at::Tensor spread(const at::Tensor& values, const at::Tensor& like)
{
    std::vector<std::int64_t> shape(static_cast<std::size_t>(like.dim()), 1);
    if (!shape.empty()) {
        shape[0] = values.size(0);
    }
    return values.to(like.scalar_type()).view(shape);
}

void check_options(const InverseOptions& options)
{
    if (options.max_iterations < 0 || !(options.tolerance >= 0)) {
        throw ConfigError("the pseudo-inverse was asked for max_iterations = " +
                          std::to_string(options.max_iterations) + " and tolerance = " +
                          std::to_string(options.tolerance) + "; both must be 0 or more.");
    }
}

at::Tensor start_from(const InverseOptions& options, const at::Tensor& target)
{
    if (!options.start.defined()) {
        return at::zeros_like(target);
    }
    TORCH_CHECK_TYPE(options.start.scalar_type() == target.scalar_type(),
                     "the pseudo-inverse was given a start of ", options.start.scalar_type(),
                     " for measurements of ", target.scalar_type(), "; convert one of them.");
    if (options.start.sizes() != target.sizes()) {
        throw ConfigError(
            "the pseudo-inverse was given a start whose shape is not the image's; "
            "give one of the shape of adjoint(y).");
    }
    return options.start.clone();
}

}  // namespace

at::Tensor solve_normal_equations(const LinearPhysics& physics, const Measurements& y,
                                  const InverseOptions& options)
{
    check_options(options);
    check_count(y, physics.measurement_count(), "the pseudo-inverse");
    for (const at::Tensor& part : y) {
        operators::check_real(part, "the pseudo-inverse");
    }
    at::Tensor target = physics.adjoint(y);
    at::Tensor x = start_from(options, target);

    // Images that cannot be solved are set aside, so that they do not touch the others.
    const at::Tensor usable =
        dot_by_image(target, target).isfinite().logical_and(dot_by_image(x, x).isfinite());
    const bool all_usable = usable.all().item<bool>();
    if (!all_usable) {
        TORCH_WARN(
            "iterscope: measurements with NaN or infinity have no pseudo-inverse; the images "
            "that they belong to come back as NaN.");
        const at::Tensor mask = spread(usable, target).to(at::kBool);
        target = at::where(mask, target, 0);
        x = at::where(mask, x, 0);
    }

    const at::Tensor limit = dot_by_image(target, target) * (options.tolerance * options.tolerance);
    at::Tensor residual = options.start.defined() ? target - physics.normal(x) : target.clone();
    at::Tensor direction = residual;
    at::Tensor size = dot_by_image(residual, residual);
    at::Tensor running = size > limit;
    for (std::int64_t i = 0; i < options.max_iterations && running.any().item<bool>(); ++i) {
        const at::Tensor image = physics.normal(direction);
        const at::Tensor curvature = dot_by_image(direction, image);
        if (i == 0) {
            const Measurements seen = physics.forward(direction);
            const double expected = dot(seen, seen);
            const double found = curvature.sum().item<double>();
            if (!(std::abs(found - expected) <= k_mismatch * std::max(std::abs(found), expected))) {
                throw UsageError(k_unmatched);
            }
        }
        // A direction that A does not see, up to rounding, ends an image's iteration.
        running = running.logical_and((curvature == 0).logical_not());
        const at::Tensor step = at::where(running, size / curvature, 0);
        x = x + spread(step, x) * direction;
        residual = residual - spread(step, x) * image;
        const at::Tensor next = dot_by_image(residual, residual);
        const at::Tensor bad =
            running.logical_and(next.isfinite().logical_not().logical_or(curvature < 0));
        if (bad.any().item<bool>()) {
            throw UsageError(k_unmatched);
        }
        const at::Tensor growth = at::where(running, next / size, 0);
        direction = residual + spread(growth, x) * direction;
        size = next;
        running = running.logical_and(size > limit);
    }
    if (!all_usable) {
        const at::Tensor mask = spread(usable, x).to(at::kBool);
        x = at::where(mask, x, std::numeric_limits<double>::quiet_NaN());
    }
    return x;
}

}  // namespace iterscope::physics
