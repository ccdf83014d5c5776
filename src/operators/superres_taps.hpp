#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace iterscope::operators {

/// One term of a correlation between low-resolution planes:
/// out[m, l] += weight * plane[m + row, l + column].
struct Tap {
    std::int64_t plane;
    std::int64_t row;
    std::int64_t column;
    double weight;
};

/// The taps of each output plane, and how far they reach over the border of a plane.
///
/// A plane is a frame, or a phase of the image: phase (a, b), number a * factor + b, holds its
/// pixels [m * factor + a, l * factor + b]. In phases, blur and decimation, their transpose, and
/// the product of both are all correlations with few short kernels and no stride.
struct TapTable {
    std::vector<std::vector<Tap>> outputs;
    std::int64_t rows_before = 0;
    std::int64_t rows_after = 0;
    std::int64_t columns_before = 0;
    std::int64_t columns_after = 0;

    std::int64_t count() const;
};

/// Phases of the image -> frames. `kernels` is [N, kh, kw].
TapTable forward_taps(const at::Tensor& kernels, std::int64_t factor);
/// Frames -> phases of the image.
TapTable adjoint_taps(const at::Tensor& kernels, std::int64_t factor);
/// Phases -> phases, summed over frames: kernels of at most (2 kh - 1) x (2 kw - 1) whatever the
/// number of frames, because (A^T A) is a filter that varies with period `factor`.
TapTable normal_taps(const at::Tensor& kernels, std::int64_t factor);
/// How many taps normal_taps would hold.
std::int64_t normal_tap_count(std::int64_t height, std::int64_t width, std::int64_t factor);

}  // namespace iterscope::operators
