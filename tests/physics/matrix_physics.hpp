#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/matmul.h>

#include <iterscope/physics/linear_physics.hpp>

namespace iterscope::test {

/// A dense matrix [m, n] on images [batch, n]. The adjoint may be given wrong on purpose.
class MatrixPhysics : public LinearPhysics {
public:
    explicit MatrixPhysics(at::Tensor matrix, at::Tensor adjoint = {})
        : matrix_(matrix), adjoint_(adjoint.defined() ? adjoint : matrix.t())
    {
    }
    Measurements forward(const at::Tensor& x) const override
    {
        return {at::matmul(x, matrix_.t())};
    }
    at::Tensor adjoint(const Measurements& y) const override
    {
        return at::matmul(y[0], adjoint_.t());
    }

private:
    at::Tensor matrix_;
    at::Tensor adjoint_;
};

}  // namespace iterscope::test
