#pragma once

#include <cstdint>
#include <tuple>

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

/// Multi-frame super-resolution: frame n is `(kernel_n * x)` (circular convolution) sampled at
/// every `factor`-th row and column. Convention of the kernel's centre: element `size / 2` along
/// each axis, as in DeepInv's `conv2d`. An image that `factor` does not divide has
/// `ceil(size / factor)` samples along that axis.
///
/// Shapes: x [B, C, H, W]; kernels [N, kh, kw], one a frame, without gradient; frames
/// [N, B, C, ceil(H / factor), ceil(W / factor)]. float32 or float64, all of one dtype and device.
/// Other dtypes throw c10::TypeError, other shapes c10::ValueError.
namespace iterscope::operators {

/// Through PyTorch's dispatcher: any device, differentiable in the first argument.
at::Tensor superres_forward(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor);
/// Exact transpose of superres_forward for an image of `height` x `width`.
at::Tensor superres_adjoint(const at::Tensor& frames, const at::Tensor& kernels,
                            std::int64_t factor, c10::SymInt height, c10::SymInt width);
/// Transpose of forward after forward, without the frames in between where that is cheaper.
at::Tensor superres_normal(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor);

/// Built of ATen operators only; what every device but the CPU runs.
namespace composite {
at::Tensor superres_forward(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor);
at::Tensor superres_adjoint(const at::Tensor& frames, const at::Tensor& kernels,
                            std::int64_t factor, std::int64_t height, std::int64_t width);
at::Tensor superres_normal(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor);
}  // namespace composite

namespace cpu {
at::Tensor superres_forward(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor);
at::Tensor superres_adjoint(const at::Tensor& frames, const at::Tensor& kernels,
                            std::int64_t factor, std::int64_t height, std::int64_t width);
at::Tensor superres_normal(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor);
/// The two ways of superres_normal; the first needs a `factor` that divides both sizes.
at::Tensor superres_normal_fused(const at::Tensor& x, const at::Tensor& kernels,
                                 std::int64_t factor);
at::Tensor superres_normal_two_pass(const at::Tensor& x, const at::Tensor& kernels,
                                    std::int64_t factor);
}  // namespace cpu

/// What every implementation checks first.
void check_superres_image(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor);
void check_superres_frames(const at::Tensor& frames, const at::Tensor& kernels, std::int64_t factor,
                           const c10::SymInt& height, const c10::SymInt& width);

}  // namespace iterscope::operators
