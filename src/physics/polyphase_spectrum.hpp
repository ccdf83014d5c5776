#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace iterscope::physics {

/// Multi-frame super-resolution in the frequencies of the image's phases (see TapTable). There
/// every frame is a sum of products, so A^T A is one Hermitian factor^2 x factor^2 matrix a
/// frequency. Needs a factor that divides the image.
class PolyphaseSpectrum {
public:
    /// `kernels` [N, kh, kw]; computed in double, kept in the precision and on the device of
    /// `like`.
    PolyphaseSpectrum(const at::Tensor& kernels, std::array<std::int64_t, 2> image_size,
                      std::int64_t factor, const at::Tensor& like);

    /// A^T A x by two FFTs, whatever the size of the kernels.
    at::Tensor normal(const at::Tensor& x) const;

    /// Largest eigenvalue of A^T A, exactly.
    static double largest_eigenvalue(const at::Tensor& kernels,
                                     std::array<std::int64_t, 2> image_size, std::int64_t factor);

private:
    std::int64_t factor_;
    /// [factor^2, factor^2, h, w / 2 + 1]
    at::Tensor products_;
};

}  // namespace iterscope::physics
