#pragma once

#include <iterscope/physics/linear_physics.hpp>

namespace iterscope::physics {

/// See LinearPhysics::pseudo_inverse.
at::Tensor solve_normal_equations(const LinearPhysics& physics, const Measurements& y,
                                  const InverseOptions& options);

}  // namespace iterscope::physics
