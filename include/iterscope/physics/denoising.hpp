#pragma once

#include <iterscope/physics/linear_physics.hpp>

namespace iterscope {

/// The identity: measurements are the image itself, in 2-D, 3-D or any other shape.
class Denoising : public LinearPhysics {
public:
    Measurements forward(const at::Tensor& x) const override;
    /// Throws ConfigError unless there is exactly one measurement.
    at::Tensor adjoint(const Measurements& y) const override;
    at::Tensor normal(const at::Tensor& x) const override;
    double norm_squared(const at::Tensor& like = {}) const override;
    at::Tensor pseudo_inverse(const Measurements& y,
                              const InverseOptions& options = {}) const override;
};

}  // namespace iterscope
