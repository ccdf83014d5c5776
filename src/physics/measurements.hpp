#pragma once

#include <cstdint>

#include <iterscope/physics/linear_physics.hpp>

namespace iterscope::physics {

/// Throws ConfigError unless `y` holds `expected` tensors. `who` names the operator.
void check_count(const Measurements& y, std::int64_t expected, const char* who);

/// Inner product and norm over all measurements, summed in double.
double dot(const Measurements& a, const Measurements& b);
double norm(const Measurements& y);

/// Inner products [B] in double of two batches of images.
at::Tensor dot_by_image(const at::Tensor& a, const at::Tensor& b);

}  // namespace iterscope::physics
