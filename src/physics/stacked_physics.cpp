#include <iterscope/physics/stacked_physics.hpp>

#include <ATen/TensorOperators.h>

#include <iterscope/error.hpp>

#include "physics/measurements.hpp"

namespace iterscope {

StackedPhysics::StackedPhysics(std::vector<std::shared_ptr<const LinearPhysics>> operators)
    : operators_(std::move(operators))
{
    if (operators_.empty()) {
        throw ConfigError("StackedPhysics was given no operator; give at least one.");
    }
    for (const auto& part : operators_) {
        if (part == nullptr) {
            throw ConfigError("StackedPhysics was given an operator that is null; leave it out.");
        }
        measurement_count_ += part->measurement_count();
    }
}

Measurements StackedPhysics::forward(const at::Tensor& x) const
{
    Measurements all;
    all.reserve(static_cast<std::size_t>(measurement_count_));
    for (const auto& part : operators_) {
        Measurements made = part->forward(x);
        physics::check_count(made, part->measurement_count(), "an operator of StackedPhysics");
        std::move(made.begin(), made.end(), std::back_inserter(all));
    }
    return all;
}

at::Tensor StackedPhysics::adjoint(const Measurements& y) const
{
    physics::check_count(y, measurement_count_, "StackedPhysics");
    at::Tensor sum;
    auto next = y.begin();
    for (const auto& part : operators_) {
        const auto end = next + part->measurement_count();
        const at::Tensor term = part->adjoint(Measurements(next, end));
        sum = sum.defined() ? sum + term : term;
        next = end;
    }
    return sum;
}

at::Tensor StackedPhysics::normal(const at::Tensor& x) const
{
    at::Tensor sum;
    for (const auto& part : operators_) {
        const at::Tensor term = part->normal(x);
        sum = sum.defined() ? sum + term : term;
    }
    return sum;
}

}  // namespace iterscope
