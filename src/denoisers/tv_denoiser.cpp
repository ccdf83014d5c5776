#include <iterscope/denoisers/tv_denoiser.hpp>

#include <cmath>
#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>

#include <iterscope/error.hpp>

#include "operators/tv.hpp"

namespace iterscope {

TVDenoiser::TVDenoiser(TVOptions options) : options_(options)
{
    if (options.max_iterations < 0 || !(options.tolerance >= 0) || !(options.tau > 0) ||
        !(options.rho > 0) || !(options.rho < 2)) {
        throw ConfigError(
            "TVDenoiser was given max_iterations = " + std::to_string(options.max_iterations) +
            ", tolerance = " + std::to_string(options.tolerance) +
            ", tau = " + std::to_string(options.tau) + ", rho = " + std::to_string(options.rho) +
            "; it takes max_iterations >= 0, tolerance >= 0, tau > 0, 0 < rho < 2.");
    }
}

bool TVDenoiser::can_resume(const at::Tensor& x) const
{
    return options_.warm_start && primal_.defined() && primal_.sizes() == x.sizes() &&
           primal_.scalar_type() == x.scalar_type() && primal_.device() == x.device();
}

at::Tensor TVDenoiser::denoise(const at::Tensor& x, double sigma)
{
    if (!(sigma >= 0) || !std::isfinite(sigma)) {
        throw ConfigError("TVDenoiser was given sigma = " + std::to_string(sigma) +
                          "; it is the weight of total variation: give 0 or more.");
    }
    operators::check_difference_image(x);
    const std::lock_guard lock(mutex_);
    at::Tensor primal = x;
    at::Tensor dual;
    if (can_resume(x)) {
        primal = primal_;
        dual = dual_;
    } else {
        std::vector<std::int64_t> shape = x.sizes().vec();
        shape.insert(shape.begin(), x.dim() - 2);
        dual = at::zeros(shape, x.options());
    }
    const at::Tensor threshold = at::full({x.size(0)}, sigma, x.options());
    auto [result, field, steps] =
        operators::tv_steps(x, primal, dual, threshold, options_.tau, options_.rho,
                            options_.max_iterations, options_.tolerance);
    iterations_ = steps;
    // A NaN that was kept would spoil every later call.
    if (options_.warm_start && result.detach().sum().isfinite().item<bool>()) {
        primal_ = result.detach();
        dual_ = field.detach();
    } else {
        forget();
    }
    return result;
}

void TVDenoiser::reset()
{
    const std::lock_guard lock(mutex_);
    forget();
}

void TVDenoiser::forget()
{
    primal_.reset();
    dual_.reset();
}

at::Tensor TVDenoiser::iterations() const
{
    const std::lock_guard lock(mutex_);
    return iterations_.defined() ? iterations_.to(at::kCPU) : iterations_;
}

at::Tensor total_variation(const at::Tensor& x)
{
    return at::linalg_vector_norm(operators::finite_difference(x), 2, std::int64_t{0})
        .flatten(1)
        .sum({1});
}

}  // namespace iterscope
