#pragma once

#include <cstdint>

#include <iterscope/physics/linear_physics.hpp>

namespace iterscope {

/// Measurements plus Gaussian noise of standard deviation `sigma`, drawn on the CPU from a
/// generator of its own: the same seed gives the same noise on every device, and PyTorch's global
/// random numbers stay as they are. Throws ConfigError when sigma is negative.
Measurements add_gaussian_noise(const Measurements& y, double sigma, std::uint64_t seed);

}  // namespace iterscope
