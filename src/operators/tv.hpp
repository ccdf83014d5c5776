#pragma once

#include <cstdint>
#include <tuple>

#include <ATen/core/Tensor.h>

/// Total variation of 2-D images [B, C, H, W] and volumes [B, C, D, H, W], each channel for itself.
/// Differences are forward ones, 0 at the far border. float32 or float64.
namespace iterscope::operators {

/// x -> u [S, *x.shape] for S spatial axes: u[s] is the difference along axis s.
at::Tensor finite_difference(const at::Tensor& x);
/// Exact transpose of finite_difference.
at::Tensor finite_difference_adjoint(const at::Tensor& u);

/// `iterations` over-relaxed Chambolle-Pock steps towards
///     argmin_x 1/2 |x - image|^2 + sum_b threshold[b] |D x_b|_{1,2}
/// (L. Condat, A primal-dual splitting method, 2013), from `primal` and `dual` [S, *image.shape].
/// One step, with sigma = 1 / (tau 2^(S + 1)):
///     x = (primal - tau D^T dual + tau image) / (1 + tau)
///     w = dual + sigma D (2 x - primal);  u = w / max(|w| / threshold, 1)
///     primal += rho (x - primal);  dual += rho (u - dual)
/// An image of the batch stops after at least three steps once |change| < tolerance |primal|;
/// a tolerance of 0 never stops. Returns primal, dual, and the steps of each image [B] (int64).
/// Differentiable: where a gradient is asked for, the steps run as ATen operators.
std::tuple<at::Tensor, at::Tensor, at::Tensor> tv_steps(
    const at::Tensor& image, const at::Tensor& primal, const at::Tensor& dual,
    const at::Tensor& threshold, double tau, double rho, std::int64_t iterations, double tolerance);

namespace composite {
at::Tensor finite_difference(const at::Tensor& x);
at::Tensor finite_difference_adjoint(const at::Tensor& u);
std::tuple<at::Tensor, at::Tensor, at::Tensor> tv_steps(
    const at::Tensor& image, const at::Tensor& primal, const at::Tensor& dual,
    const at::Tensor& threshold, double tau, double rho, std::int64_t iterations, double tolerance);
}  // namespace composite

namespace cpu {
at::Tensor finite_difference(const at::Tensor& x);
at::Tensor finite_difference_adjoint(const at::Tensor& u);
std::tuple<at::Tensor, at::Tensor, at::Tensor> tv_steps(
    const at::Tensor& image, const at::Tensor& primal, const at::Tensor& dual,
    const at::Tensor& threshold, double tau, double rho, std::int64_t iterations, double tolerance);
}  // namespace cpu

/// What every implementation checks first.
void check_difference_image(const at::Tensor& x);
void check_difference_field(const at::Tensor& u);
void check_tv(const at::Tensor& image, const at::Tensor& primal, const at::Tensor& dual,
              const at::Tensor& threshold, double tau, double rho, std::int64_t iterations,
              double tolerance);

}  // namespace iterscope::operators
