#pragma once

#include <iterscope/physics/linear_physics.hpp>

namespace iterscope::physics {

/// Largest singular value of an operator on images like the first one of `like`, by Golub-Kahan
/// bidiagonalisation from a fixed random start. A and A^T act on vectors of unit norm only, so the
/// scale of the operator cannot overflow or vanish.
double largest_singular_value(const LinearPhysics& physics, const at::Tensor& like);

}  // namespace iterscope::physics
