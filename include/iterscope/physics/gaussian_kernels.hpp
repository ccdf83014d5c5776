#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace iterscope {

/// `count` Gaussian blur kernels [count, size, size] in float64, each of sum 1. `sigma` is the
/// standard deviation in pixels along rows and along columns; where the two differ, kernel n is
/// turned by n * 180 / count degrees. Throws ConfigError unless all arguments are positive.
at::Tensor gaussian_kernels(std::int64_t count, std::int64_t size = 5,
                            std::array<double, 2> sigma = {1.0, 1.0});

}  // namespace iterscope
