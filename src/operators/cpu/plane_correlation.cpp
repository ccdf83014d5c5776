#include "operators/cpu/plane_correlation.hpp"

#include <algorithm>

#include <ATen/Parallel.h>

namespace iterscope::operators::cpu {

namespace {

std::int64_t wrap(std::int64_t index, std::int64_t length)
{
    const std::int64_t rest = index % length;
    return rest < 0 ? rest + length : rest;
}

/// Rows a band: as many as keep its planes in half a megabyte, but enough bands for every thread.
std::int64_t choose_band(std::int64_t rows, std::int64_t bytes_a_row)
{
    constexpr std::int64_t k_cache_bytes = 1 << 19;
    constexpr std::int64_t k_kernel_rows = 4;
    const std::int64_t fitting = k_cache_bytes / std::max<std::int64_t>(bytes_a_row, 1);
    const std::int64_t fair = rows / (2 * static_cast<std::int64_t>(at::get_num_threads())) + 1;
    const std::int64_t band = std::clamp<std::int64_t>(std::min(fitting, fair), 16, 256);
    return std::min(rows, (band + k_kernel_rows - 1) / k_kernel_rows * k_kernel_rows);
}

}  // namespace

template <typename T>
PlaneCorrelation<T>::PlaneCorrelation(const TapTable& taps, PlaneAxis rows, PlaneAxis columns,
                                      std::int64_t sources)
    : kernels_(kernels<T>()),
      rows_(rows),
      columns_(columns),
      sources_(sources),
      rows_before_(taps.rows_before),
      columns_before_(taps.columns_before),
      planes_(sources * rows.factor * columns.factor),
      band_(0),
      plane_rows_(0),
      plane_columns_(columns.outputs + taps.columns_before + taps.columns_after)
{
    band_ =
        choose_band(rows.outputs, planes_ * plane_columns_ * static_cast<std::int64_t>(sizeof(T)));
    plane_rows_ = band_ + taps.rows_before + taps.rows_after;
    for (const std::vector<Tap>& output : taps.outputs) {
        std::vector<std::ptrdiff_t>& offsets = offsets_.emplace_back();
        std::vector<T>& weights = weights_.emplace_back();
        for (const Tap& tap : output) {
            offsets.push_back((tap.plane * plane_rows_ + tap.row + rows_before_) * plane_columns_ +
                              tap.column + columns_before_);
            weights.push_back(static_cast<T>(tap.weight));
        }
    }
}

template <typename T>
std::int64_t PlaneCorrelation<T>::row_count(std::int64_t band) const noexcept
{
    return std::min(band_, rows_.outputs - first_row(band));
}

template <typename T>
void PlaneCorrelation<T>::gather_row(const T* source, T* out, std::int64_t phase) const
{
    const std::int64_t factor = columns_.factor;
    const std::int64_t first = columns_.origin - columns_before_;
    // Samples of the source itself: those s with 0 <= s * factor + phase < length.
    const std::int64_t samples = (columns_.length - phase + factor - 1) / factor;
    const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, plane_columns_);
    const std::int64_t end = std::clamp<std::int64_t>(samples - first, begin, plane_columns_);
    const auto border = [&](std::int64_t j) {
        const std::int64_t pixel = (first + j) * factor + phase;
        out[j] = columns_.circular ? source[wrap(pixel, columns_.length)] : T(0);
    };
    for (std::int64_t j = 0; j < begin; ++j) {
        border(j);
    }
    if (end > begin) {
        kernels_.split(source + (first + begin) * factor + phase, out + begin, end - begin, factor);
    }
    for (std::int64_t j = end; j < plane_columns_; ++j) {
        border(j);
    }
}

template <typename T>
void PlaneCorrelation<T>::gather(const T* images, std::int64_t stride, std::int64_t band,
                                 T* scratch) const
{
    const std::int64_t count = row_count(band) + plane_rows_ - band_;
    const std::int64_t first = rows_.origin + first_row(band) - rows_before_;
    for (std::int64_t plane = 0; plane < planes_; ++plane) {
        const std::int64_t column_phase = plane % columns_.factor;
        const std::int64_t row_phase = plane / columns_.factor % rows_.factor;
        const T* image = images + plane / (columns_.factor * rows_.factor) * stride;
        for (std::int64_t r = 0; r < count; ++r) {
            T* out = scratch + (plane * plane_rows_ + r) * plane_columns_;
            const std::int64_t pixel = (first + r) * rows_.factor + row_phase;
            if (rows_.circular || (pixel >= 0 && pixel < rows_.length)) {
                gather_row(image + wrap(pixel, rows_.length) * columns_.length, out, column_phase);
            } else {
                std::fill_n(out, plane_columns_, T(0));
            }
        }
    }
}

template <typename T>
void PlaneCorrelation<T>::correlate(const T* scratch, std::int64_t output, std::int64_t band,
                                    T* out, std::int64_t out_stride) const
{
    const std::vector<T>& weights = weights_[static_cast<std::size_t>(output)];
    kernels_.correlate(scratch, plane_columns_, offsets_[static_cast<std::size_t>(output)].data(),
                       weights.data(), static_cast<std::ptrdiff_t>(weights.size()), out, out_stride,
                       row_count(band), columns_.outputs);
}

template class PlaneCorrelation<float>;
template class PlaneCorrelation<double>;

}  // namespace iterscope::operators::cpu
