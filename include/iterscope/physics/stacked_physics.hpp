#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <iterscope/physics/linear_physics.hpp>

namespace iterscope {

/// Operators that look at the same image: their measurements, one after the other. The adjoint and
/// the normal operator are sums over the operators, so a data fidelity is too.
class StackedPhysics : public LinearPhysics {
public:
    /// Throws ConfigError on an empty list or a null operator.
    explicit StackedPhysics(std::vector<std::shared_ptr<const LinearPhysics>> operators);

    Measurements forward(const at::Tensor& x) const override;
    /// Throws ConfigError unless there are measurement_count() measurements.
    at::Tensor adjoint(const Measurements& y) const override;
    at::Tensor normal(const at::Tensor& x) const override;

    std::int64_t measurement_count() const override { return measurement_count_; }

    const std::vector<std::shared_ptr<const LinearPhysics>>& operators() const noexcept
    {
        return operators_;
    }

private:
    std::vector<std::shared_ptr<const LinearPhysics>> operators_;
    std::int64_t measurement_count_ = 0;
};

}  // namespace iterscope
