#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "operators/tv.hpp"

namespace iterscope::operators::composite {

namespace {

/// Pads dimension `dim` of `x` by one zero before or after.
at::Tensor pad_one(const at::Tensor& x, std::int64_t dim, bool before)
{
    std::vector<std::int64_t> amounts(static_cast<std::size_t>(2 * (x.dim() - dim)), 0);
    amounts[amounts.size() - (before ? 2 : 1)] = 1;
    return at::constant_pad_nd(x, amounts, 0);
}

/// Norm of each image of the batch.
at::Tensor norms(const at::Tensor& x)
{
    return at::linalg_vector_norm(x.flatten(1), 2, std::int64_t{1});
}

}  // namespace

at::Tensor finite_difference(const at::Tensor& x)
{
    check_difference_image(x);
    std::vector<at::Tensor> parts;
    for (std::int64_t dim = 2; dim < x.dim(); ++dim) {
        if (x.size(dim) == 0) {
            parts.push_back(x.clone());
            continue;
        }
        const at::Tensor ahead = x.narrow(dim, 1, x.size(dim) - 1);
        parts.push_back(pad_one(ahead - x.narrow(dim, 0, x.size(dim) - 1), dim, false));
    }
    return at::stack(parts);
}

at::Tensor finite_difference_adjoint(const at::Tensor& u)
{
    check_difference_field(u);
    at::Tensor out;
    for (std::int64_t s = 0; s < u.size(0); ++s) {
        const std::int64_t dim = s + 2;
        const at::Tensor part = u.select(0, s);
        if (part.size(dim) == 0) {
            return part.clone();
        }
        // The difference at the far border is 0 whatever the image: its transpose ignores it.
        const at::Tensor inner = part.narrow(dim, 0, part.size(dim) - 1);
        const at::Tensor term = pad_one(inner, dim, true) - pad_one(inner, dim, false);
        out = out.defined() ? out + term : term;
    }
    return out;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> tv_steps(
    const at::Tensor& image, const at::Tensor& primal, const at::Tensor& dual,
    const at::Tensor& threshold, double tau, double rho, std::int64_t iterations, double tolerance)
{
    check_tv(image, primal, dual, threshold, tau, rho, iterations, tolerance);
    const double sigma = 1 / tau / static_cast<double>(1 << (image.dim() - 1));
    std::vector<std::int64_t> shape(static_cast<std::size_t>(image.dim()), 1);
    shape[0] = image.size(0);
    const at::Tensor limit = threshold.view(shape);
    at::Tensor x2 = primal.clone();
    at::Tensor u2 = dual.clone();
    at::Tensor steps = at::zeros({image.size(0)}, image.options().dtype(at::kLong));
    at::Tensor running = at::zeros({image.size(0)}, image.options().dtype(at::kBool)).logical_not();
    for (std::int64_t i = 0; i < iterations; ++i) {
        const at::Tensor x = (x2 - tau * finite_difference_adjoint(u2) + tau * image) / (1 + tau);
        const at::Tensor w = u2 + sigma * finite_difference(2 * x - x2);
        const at::Tensor norm = at::linalg_vector_norm(w, 2, std::int64_t{0});
        // A threshold of 0 leaves no dual variable; 0 / 0 must not make it NaN.
        const at::Tensor scale =
            at::where(norm > limit, limit / at::where(norm > limit, norm, 1), 1);
        const at::Tensor x2_next = x2 + rho * (x - x2);
        const at::Tensor u2_next = u2 + rho * (w * scale - u2);
        if (tolerance == 0) {
            x2 = x2_next;
            u2 = u2_next;
            steps = steps + 1;
            continue;
        }
        const at::Tensor change = norms(x2_next.detach() - x2.detach());
        const at::Tensor size = norms(x2_next.detach() + 1e-12);
        const at::Tensor mask = running.view(shape);
        x2 = at::where(mask, x2_next, x2);
        u2 = at::where(mask, u2_next, u2);
        steps = steps + running;
        if (i > 1) {
            running = running.logical_and((change / size < tolerance).logical_not());
            if (!running.any().item<bool>()) {
                break;
            }
        }
    }
    return {x2, u2, steps};
}

}  // namespace iterscope::operators::composite
