#include "physics/measurements.hpp"

#include <cmath>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/sum.h>

#include <iterscope/error.hpp>

namespace iterscope::physics {

void check_count(const Measurements& y, std::int64_t expected, const char* who)
{
    if (static_cast<std::int64_t>(y.size()) != expected) {
        throw ConfigError(std::string(who) + " was given " + std::to_string(y.size()) +
                          " measurements (it makes " + std::to_string(expected) +
                          "); give as many, in the order of forward().");
    }
}

double dot(const Measurements& a, const Measurements& b)
{
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        total += at::sum(a[i].to(at::kDouble) * b[i]).item<double>();
    }
    return total;
}

double norm(const Measurements& y) { return std::sqrt(dot(y, y)); }

at::Tensor dot_by_image(const at::Tensor& a, const at::Tensor& b)
{
    if (a.dim() == 0) {
        return (a.to(at::kDouble) * b).reshape({1});
    }
    return at::sum((a.to(at::kDouble) * b).flatten(1), {1});
}

}  // namespace iterscope::physics
