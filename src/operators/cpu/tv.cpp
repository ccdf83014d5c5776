#include "operators/tv.hpp"

#include <cmath>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "operators/cpu/tv_plane.hpp"

namespace iterscope::operators::cpu {

namespace {

/// Steps until the image has settled; returns how many.
template <typename T>
std::int64_t settle(TvPlane<T>& plane, std::int64_t iterations, double tolerance)
{
    for (std::int64_t i = 0; i < iterations; ++i) {
        const auto change = plane.step(tolerance > 0 && i > 1);
        if (tolerance > 0 && i > 1 &&
            std::sqrt(change.change) / std::sqrt(change.size) < tolerance) {
            return i + 1;
        }
    }
    return iterations;
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> tv_steps(
    const at::Tensor& image, const at::Tensor& primal, const at::Tensor& dual,
    const at::Tensor& threshold, double tau, double rho, std::int64_t iterations, double tolerance)
{
    check_tv(image, primal, dual, threshold, tau, rho, iterations, tolerance);
    const at::Tensor source = image.contiguous();
    const at::Tensor limits = threshold.contiguous();
    // The steps work in place on copies.
    at::Tensor x = at::empty(image.sizes(), image.options()).copy_(primal);
    at::Tensor u = at::empty(dual.sizes(), dual.options()).copy_(dual);
    at::Tensor steps = at::zeros({image.size(0)}, image.options().dtype(at::kLong));
    if (image.numel() == 0) {
        return {x, u, steps};
    }
    const bool volume = image.dim() == 5;
    const TvShape shape{image.size(1), image.size(2), volume ? image.size(3) : 1, image.size(-1),
                        volume};
    const std::int64_t size = image.numel() / image.size(0);
    const std::int64_t part = image.numel();
    AT_DISPATCH_FLOATING_TYPES(image.scalar_type(), "tv_steps", [&] {
        auto* const out = u.mutable_data_ptr<scalar_t>();
        for (std::int64_t b = 0; b < image.size(0); ++b) {
            scalar_t* const across = out + b * size;
            TvPlane<scalar_t> plane(
                shape, source.const_data_ptr<scalar_t>() + b * size,
                x.mutable_data_ptr<scalar_t>() + b * size, across, volume ? across + part : nullptr,
                across + (volume ? 2 : 1) * part, static_cast<scalar_t>(tau),
                static_cast<scalar_t>(rho), limits.const_data_ptr<scalar_t>()[b]);
            steps.mutable_data_ptr<std::int64_t>()[b] = settle(plane, iterations, tolerance);
        }
    });
    return {x, u, steps};
}

}  // namespace iterscope::operators::cpu
