#include "physics/polyphase_spectrum.hpp"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/fft_irfft2.h>
#include <ATen/ops/fft_rfft2.h>
#include <ATen/ops/linalg_eigvalsh.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/zeros.h>

#include "operators/superres_taps.hpp"

namespace iterscope::physics {

namespace {

/// The matrices E^H E in double: [factor^2, factor^2, h, w / 2 + 1].
at::Tensor product_matrices(const at::Tensor& kernels, std::array<std::int64_t, 2> image_size,
                            std::int64_t factor)
{
    const operators::TapTable taps = operators::forward_taps(kernels, factor);
    const std::int64_t height = image_size[0] / factor;
    const std::int64_t width = image_size[1] / factor;
    const std::int64_t phases = factor * factor;
    const auto wrap = [](std::int64_t index, std::int64_t length) {
        return (index % length + length) % length;
    };
    // A correlation with taps at m + d is a circular convolution with a filter that has them at -d.
    at::Tensor filters =
        at::zeros({kernels.size(0), phases, height, width}, at::TensorOptions(at::kDouble));
    double* out = filters.mutable_data_ptr<double>();
    for (std::size_t n = 0; n < taps.outputs.size(); ++n) {
        for (const operators::Tap& tap : taps.outputs[n]) {
            const std::int64_t plane = static_cast<std::int64_t>(n) * phases + tap.plane;
            out[(plane * height + wrap(-tap.row, height)) * width + wrap(-tap.column, width)] +=
                tap.weight;
        }
    }
    const at::Tensor transfer = at::fft_rfft2(filters);
    return at::einsum("npij,nqij->pqij", {transfer.conj(), transfer});
}

}  // namespace

PolyphaseSpectrum::PolyphaseSpectrum(const at::Tensor& kernels,
                                     std::array<std::int64_t, 2> image_size, std::int64_t factor,
                                     const at::Tensor& like)
    : factor_(factor),
      products_(product_matrices(kernels, image_size, factor)
                    .to(like.device(),
                        like.scalar_type() == at::kFloat ? at::kComplexFloat : at::kComplexDouble)
                    .contiguous())
{
}

at::Tensor PolyphaseSpectrum::normal(const at::Tensor& x) const
{
    const std::int64_t height = x.size(2) / factor_;
    const std::int64_t width = x.size(3) / factor_;
    const at::Tensor phases = x.reshape({x.size(0), x.size(1), height, factor_, width, factor_})
                                  .permute({0, 1, 3, 5, 2, 4})
                                  .flatten(2, 3);
    const at::Tensor spectrum = at::fft_rfft2(phases);
    at::Tensor sum = products_.select(1, 0) * spectrum.select(2, 0).unsqueeze(2);
    for (std::int64_t q = 1; q < factor_ * factor_; ++q) {
        sum = at::addcmul(sum, products_.select(1, q), spectrum.select(2, q).unsqueeze(2));
    }
    return at::fft_irfft2(sum, at::IntArrayRef({height, width}))
        .unflatten(2, {factor_, factor_})
        .permute({0, 1, 4, 2, 5, 3})
        .reshape(x.sizes());
}

double PolyphaseSpectrum::largest_eigenvalue(const at::Tensor& kernels,
                                             std::array<std::int64_t, 2> image_size,
                                             std::int64_t factor)
{
    const std::int64_t phases = factor * factor;
    const at::Tensor matrices = product_matrices(kernels, image_size, factor)
                                    .permute({2, 3, 0, 1})
                                    .reshape({-1, phases, phases});
    // Eigenvalues l >= 0 obey sum l^2 / sum l <= max l <= sqrt(sum l^2): few frequencies are left.
    const at::Tensor squares = at::real(matrices * matrices.conj()).sum({1, 2});
    const at::Tensor trace = at::real(matrices.diagonal(0, 1, 2)).sum({1});
    if (trace.max().item<double>() <= 0) {
        return 0;
    }
    const at::Tensor tiny = trace.max() * 1e-300;
    const at::Tensor at_least = (squares / (trace + tiny)).max() * (1 - 1e-12);
    const at::Tensor candidates = matrices.index({squares.sqrt() >= at_least});
    return std::max(0.0, at::linalg_eigvalsh(candidates).max().item<double>());
}

}  // namespace iterscope::physics
