#include "operators/superres.hpp"

#include <memory>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "operators/cpu/plane_correlation.hpp"

namespace iterscope::operators::cpu {

namespace {

std::int64_t samples(std::int64_t size, std::int64_t factor)
{
    return (size + factor - 1) / factor;
}

template <typename T>
std::unique_ptr<T[]> scratch_memory(std::size_t size)
{
    return std::make_unique_for_overwrite<T[]>(size);
}

/// Frames of every image: the planes of one image, correlated into one band of each frame.
template <typename T>
void forward_kernel(const T* x, T* frames, std::int64_t images, const PlaneAxis& rows,
                    const PlaneAxis& columns, const TapTable& taps)
{
    const PlaneCorrelation<T> correlation(taps, rows, columns, 1);
    const std::int64_t size = rows.length * columns.length;
    const std::int64_t bands = correlation.bands();
    at::parallel_for(0, images * bands, 1, [&](std::int64_t begin, std::int64_t end) {
        const auto scratch = scratch_memory<T>(correlation.scratch_size());
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t image = task / bands;
            const std::int64_t band = task % bands;
            correlation.gather(x + image * size, size, band, scratch.get());
            for (std::size_t n = 0; n < taps.outputs.size(); ++n) {
                const std::int64_t frame = static_cast<std::int64_t>(n) * images + image;
                T* out =
                    frames + (frame * rows.outputs + correlation.first_row(band)) * columns.outputs;
                correlation.correlate(scratch.get(), static_cast<std::int64_t>(n), band, out,
                                      columns.outputs);
            }
        }
    });
}

/// Images of outputs * factor rows and columns, phase by phase. Source s of image i begins at
/// in + s * source_stride + i * image_stride.
template <typename T>
void phases_kernel(const T* in, std::int64_t sources, std::int64_t source_stride,
                   std::int64_t image_stride, T* out, std::int64_t images, std::int64_t factor,
                   const PlaneAxis& rows, const PlaneAxis& columns, const TapTable& taps)
{
    const PlaneCorrelation<T> correlation(taps, rows, columns, sources);
    const Kernels<T>& inner = kernels<T>();
    const std::int64_t bands = correlation.bands();
    const std::int64_t width = columns.outputs * factor;
    const std::int64_t phase_size = correlation.band_rows() * columns.outputs;
    at::parallel_for(0, images * bands, 1, [&](std::int64_t begin, std::int64_t end) {
        const auto scratch = scratch_memory<T>(correlation.scratch_size());
        const auto phases = scratch_memory<T>(static_cast<std::size_t>(phase_size * factor));
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t image = task / bands;
            const std::int64_t band = task % bands;
            const std::int64_t first = image * rows.outputs + correlation.first_row(band);
            correlation.gather(in + image * image_stride, source_stride, band, scratch.get());
            for (std::int64_t p = 0; p < factor; ++p) {
                for (std::int64_t q = 0; q < factor; ++q) {
                    correlation.correlate(scratch.get(), p * factor + q, band,
                                          phases.get() + q * phase_size, columns.outputs);
                }
                for (std::int64_t m = 0; m < correlation.row_count(band); ++m) {
                    inner.merge(phases.get() + m * columns.outputs, phase_size,
                                out + ((first + m) * factor + p) * width, columns.outputs, factor);
                }
            }
        }
    });
}

/// Adds every pixel of `extended`, whose pixel 0 lies at (row_origin, column_origin), to the image
/// pixel that it wraps round to.
template <typename T>
void fold_kernel(const T* extended, std::int64_t height, std::int64_t width,
                 std::int64_t row_origin, std::int64_t column_origin, T* out, std::int64_t images,
                 std::int64_t out_height, std::int64_t out_width)
{
    const auto wrap = [](std::int64_t index, std::int64_t length) {
        const std::int64_t rest = index % length;
        return rest < 0 ? rest + length : rest;
    };
    at::parallel_for(0, images, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t image = begin; image < end; ++image) {
            for (std::int64_t i = 0; i < height; ++i) {
                const T* from = extended + (image * height + i) * width;
                T* to = out + (image * out_height + wrap(row_origin + i, out_height)) * out_width;
                std::int64_t column = wrap(column_origin, out_width);
                for (std::int64_t j = 0; j < width; ++j) {
                    to[column] += from[j];
                    column = column + 1 == out_width ? 0 : column + 1;
                }
            }
        }
    });
}

}  // namespace

at::Tensor superres_forward(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor)
{
    check_superres_image(x, kernels, factor);
    const at::Tensor image = x.contiguous();
    const PlaneAxis rows{x.size(2), factor, true, 0, samples(x.size(2), factor)};
    const PlaneAxis columns{x.size(3), factor, true, 0, samples(x.size(3), factor)};
    at::Tensor frames = at::empty(
        {kernels.size(0), x.size(0), x.size(1), rows.outputs, columns.outputs}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "superres_forward", [&] {
        forward_kernel<scalar_t>(image.const_data_ptr<scalar_t>(),
                                 frames.mutable_data_ptr<scalar_t>(), x.size(0) * x.size(1), rows,
                                 columns, forward_taps(kernels, factor));
    });
    return frames;
}

at::Tensor superres_adjoint(const at::Tensor& frames, const at::Tensor& kernels,
                            std::int64_t factor, std::int64_t height, std::int64_t width)
{
    check_superres_frames(frames, kernels, factor, height, width);
    const at::Tensor source = frames.contiguous();
    const TapTable taps = adjoint_taps(kernels, factor);
    const std::int64_t images = frames.size(1) * frames.size(2);
    const std::int64_t frame_size = frames.size(3) * frames.size(4);
    PlaneAxis rows{frames.size(3), 1, true, 0, frames.size(3)};
    PlaneAxis columns{frames.size(4), 1, true, 0, frames.size(4)};
    at::Tensor out;
    const auto apply = [&](at::Tensor to) {
        AT_DISPATCH_FLOATING_TYPES(frames.scalar_type(), "superres_adjoint", [&] {
            phases_kernel<scalar_t>(
                source.const_data_ptr<scalar_t>(), frames.size(0), images * frame_size, frame_size,
                to.mutable_data_ptr<scalar_t>(), images, factor, rows, columns, taps);
        });
    };
    if (height % factor == 0 && width % factor == 0) {
        out = at::empty({frames.size(1), frames.size(2), height, width}, frames.options());
        apply(out);
        return out;
    }
    // Where the factor does not divide the size, the last and the first sample are closer than
    // `factor`: the blurred samples are spread over a plane with a margin, then folded back.
    for (auto [axis, before, after] :
         {std::tuple(&rows, taps.rows_after, taps.rows_before),
          std::tuple(&columns, taps.columns_after, taps.columns_before)}) {
        axis->circular = false;
        axis->origin = -before;
        axis->outputs += before + after;
    }
    at::Tensor extended =
        at::empty({frames.size(1), frames.size(2), rows.outputs * factor, columns.outputs * factor},
                  frames.options());
    apply(extended);
    out = at::zeros({frames.size(1), frames.size(2), height, width}, frames.options());
    AT_DISPATCH_FLOATING_TYPES(frames.scalar_type(), "superres_adjoint_fold", [&] {
        fold_kernel<scalar_t>(extended.const_data_ptr<scalar_t>(), extended.size(2),
                              extended.size(3), rows.origin * factor, columns.origin * factor,
                              out.mutable_data_ptr<scalar_t>(), images, height, width);
    });
    return out;
}

at::Tensor superres_normal_fused(const at::Tensor& x, const at::Tensor& kernels,
                                 std::int64_t factor)
{
    check_superres_image(x, kernels, factor);
    TORCH_CHECK_VALUE(x.size(2) % factor == 0 && x.size(3) % factor == 0,
                      "the fused normal operator needs a factor that divides ", x.size(2), " and ",
                      x.size(3), "; use superres_normal.");
    const at::Tensor image = x.contiguous();
    const PlaneAxis rows{x.size(2), factor, true, 0, x.size(2) / factor};
    const PlaneAxis columns{x.size(3), factor, true, 0, x.size(3) / factor};
    const std::int64_t size = x.size(2) * x.size(3);
    at::Tensor out = at::empty(x.sizes(), x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "superres_normal", [&] {
        phases_kernel<scalar_t>(image.const_data_ptr<scalar_t>(), 1, size, size,
                                out.mutable_data_ptr<scalar_t>(), x.size(0) * x.size(1), factor,
                                rows, columns, normal_taps(kernels, factor));
    });
    return out;
}

at::Tensor superres_normal_two_pass(const at::Tensor& x, const at::Tensor& kernels,
                                    std::int64_t factor)
{
    return superres_adjoint(superres_forward(x, kernels, factor), kernels, factor, x.size(2),
                            x.size(3));
}

at::Tensor superres_normal(const at::Tensor& x, const at::Tensor& kernels, std::int64_t factor)
{
    check_superres_image(x, kernels, factor);
    if (x.size(2) % factor != 0 || x.size(3) % factor != 0) {
        return superres_normal_two_pass(x, kernels, factor);
    }
    // Multiplications a low-resolution sample; the frames in between cost memory traffic.
    const std::int64_t fused = normal_tap_count(kernels.size(1), kernels.size(2), factor);
    const std::int64_t two_pass = 2 * kernels.numel();
    return fused <= two_pass + 2 * kernels.size(0) ? superres_normal_fused(x, kernels, factor)
                                                   : superres_normal_two_pass(x, kernels, factor);
}

}  // namespace iterscope::operators::cpu
