#include <iterscope/physics/linear_physics.hpp>

#include <cmath>

#include <ATen/core/grad_mode.h>

#include <iterscope/error.hpp>

#include "operators/real_tensor.hpp"
#include "physics/conjugate_gradient.hpp"
#include "physics/largest_singular_value.hpp"

namespace iterscope {

at::Tensor LinearPhysics::normal(const at::Tensor& x) const { return adjoint(forward(x)); }

double LinearPhysics::norm_squared(const at::Tensor& like) const
{
    if (!like.defined()) {
        throw ConfigError(
            "the norm of this operator needs an example image (it has no formula for it and does "
            "not know the image's shape); give norm() any image that forward() takes.");
    }
    operators::check_real(like, "the norm of an operator");
    const at::NoGradGuard no_grad;
    const double value = physics::largest_singular_value(*this, like);
    return value * value;
}

double LinearPhysics::norm(const at::Tensor& like) const { return std::sqrt(norm_squared(like)); }

at::Tensor LinearPhysics::pseudo_inverse(const Measurements& y, const InverseOptions& options) const
{
    const at::NoGradGuard no_grad;
    return physics::solve_normal_equations(*this, y, options);
}

}  // namespace iterscope
