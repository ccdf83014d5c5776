#include <ATen/ops/arange.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/zeros.h>

#include "operators/superres.hpp"

namespace iterscope::operators::composite {

namespace {

/// Which pixel each element of an image padded for a valid strided convolution is, along one axis.
at::Tensor padded_index(std::int64_t size, std::int64_t kernel, std::int64_t factor,
                        const at::Tensor& like)
{
    const std::int64_t samples = (size + factor - 1) / factor;
    const std::int64_t before = kernel - 1 - kernel / 2;
    const std::int64_t length = (samples - 1) * factor + kernel;
    return at::remainder(at::arange(-before, length - before, like.options().dtype(at::kLong)),
                         size);
}

/// A correlation's weights for a convolution.
at::Tensor flipped(const at::Tensor& kernels) { return kernels.flip({1, 2}).unsqueeze(1); }

}  // namespace

at::Tensor superres_forward(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor)
{
    check_superres_image(x, kernels, factor);
    const at::Tensor rows = padded_index(x.size(2), kernels.size(1), factor, x);
    const at::Tensor columns = padded_index(x.size(3), kernels.size(2), factor, x);
    const at::Tensor padded = x.index_select(2, rows).index_select(3, columns);
    const at::Tensor flat =
        padded.reshape({x.size(0) * x.size(1), 1, padded.size(2), padded.size(3)});
    const at::Tensor frames = at::conv2d(flat, flipped(kernels), {}, factor);
    return frames.view({x.size(0), x.size(1), frames.size(1), frames.size(2), frames.size(3)})
        .permute({2, 0, 1, 3, 4})
        .contiguous();
}

at::Tensor superres_adjoint(const at::Tensor& frames, const at::Tensor& kernels,
                            std::int64_t factor, std::int64_t height, std::int64_t width)
{
    check_superres_frames(frames, kernels, factor, height, width);
    const std::int64_t batch = frames.size(1);
    const std::int64_t channels = frames.size(2);
    const at::Tensor flat =
        frames.permute({1, 2, 0, 3, 4})
            .reshape({batch * channels, frames.size(0), frames.size(3), frames.size(4)});
    const at::Tensor padded = at::conv_transpose2d(flat, flipped(kernels), {}, factor).squeeze(1);
    // What was read over the border goes back to the pixel it came from.
    const at::Tensor rows = padded_index(height, kernels.size(1), factor, frames);
    const at::Tensor columns = padded_index(width, kernels.size(2), factor, frames);
    const at::Tensor by_row =
        at::zeros({batch * channels, height, padded.size(2)}, frames.options())
            .index_add(1, rows, padded);
    return at::zeros({batch * channels, height, width}, frames.options())
        .index_add(2, columns, by_row)
        .view({batch, channels, height, width});
}

at::Tensor superres_normal(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor)
{
    return superres_adjoint(superres_forward(x, kernels, factor), kernels, factor, x.size(2),
                            x.size(3));
}

}  // namespace iterscope::operators::composite
