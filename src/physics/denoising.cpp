#include <iterscope/physics/denoising.hpp>

#include "operators/real_tensor.hpp"
#include "physics/measurements.hpp"

namespace iterscope {

Measurements Denoising::forward(const at::Tensor& x) const
{
    operators::check_real(x, "Denoising");
    return {x};
}

at::Tensor Denoising::adjoint(const Measurements& y) const
{
    physics::check_count(y, 1, "Denoising");
    operators::check_real(y[0], "Denoising");
    return y[0];
}

at::Tensor Denoising::normal(const at::Tensor& x) const
{
    operators::check_real(x, "Denoising");
    return x;
}

double Denoising::norm_squared(const at::Tensor&) const { return 1; }

at::Tensor Denoising::pseudo_inverse(const Measurements& y, const InverseOptions&) const
{
    return adjoint(y).clone();
}

}  // namespace iterscope
