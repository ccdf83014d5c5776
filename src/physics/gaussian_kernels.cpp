#include <iterscope/physics/gaussian_kernels.hpp>

#include <cmath>
#include <numbers>
#include <string>

#include <ATen/ops/empty.h>

#include <iterscope/error.hpp>

namespace iterscope {

at::Tensor gaussian_kernels(std::int64_t count, std::int64_t size, std::array<double, 2> sigma)
{
    if (count < 1 || size < 1 || !(sigma[0] > 0) || !(sigma[1] > 0)) {
        throw ConfigError("Gaussian kernels were asked for with count = " + std::to_string(count) +
                          ", size = " + std::to_string(size) + ", sigma = (" +
                          std::to_string(sigma[0]) + ", " + std::to_string(sigma[1]) +
                          "); all must be positive.");
    }
    at::Tensor kernels = at::empty({count, size, size}, at::TensorOptions(at::kDouble));
    double* out = kernels.mutable_data_ptr<double>();
    const double centre = 0.5 * static_cast<double>(size - 1);
    for (std::int64_t n = 0; n < count; ++n, out += size * size) {
        const double angle = std::numbers::pi * static_cast<double>(n) / static_cast<double>(count);
        double sum = 0;
        for (std::int64_t i = 0; i < size; ++i) {
            for (std::int64_t j = 0; j < size; ++j) {
                const double row = static_cast<double>(i) - centre;
                const double column = static_cast<double>(j) - centre;
                const double along = (std::cos(angle) * column - std::sin(angle) * row) / sigma[1];
                const double across = (std::sin(angle) * column + std::cos(angle) * row) / sigma[0];
                const double value = std::exp(-0.5 * (along * along + across * across));
                out[i * size + j] = value;
                sum += value;
            }
        }
        for (std::int64_t i = 0; i < size * size; ++i) {
            out[i] /= sum;
        }
    }
    return kernels;
}

}  // namespace iterscope
