#include "physics/largest_singular_value.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <c10/util/Exception.h>

#include <iterscope/error.hpp>

#include "physics/measurements.hpp"

namespace iterscope::physics {

namespace {

constexpr std::uint64_t k_seed = 20210403;
constexpr int k_most_steps = 300;
/// Residual of the singular pair that ends the iteration; the value itself is far closer.
constexpr double k_tolerance = 1e-4;

/// Diagonals of an upper bidiagonal matrix B: B[i][i] = main[i], B[i][i + 1] = above[i].
struct Bidiagonal {
    std::vector<double> main;
    std::vector<double> above;

    /// Is any eigenvalue of B^T B larger than `value`? By Sturm's sequence of the tridiagonal
    /// matrix.
    bool has_eigenvalue_above(double value) const
    {
        double pivot = 1;
        for (std::size_t i = 0; i < main.size(); ++i) {
            const double side = i > 0 ? above[i - 1] : 0;
            const double diagonal = main[i] * main[i] + side * side;
            const double coupling = i > 0 ? main[i - 1] * above[i - 1] : 0;
            pivot = diagonal - value - (i > 0 ? coupling * coupling / pivot : 0);
            if (pivot >= 0) {
                return true;
            }
        }
        return false;
    }

    /// Largest singular value, by bisection; the entries are scaled so that nothing underflows.
    double largest() const
    {
        double scale = 0;
        for (const std::vector<double>* entries : {&main, &above}) {
            for (const double entry : *entries) {
                scale = std::max(scale, std::abs(entry));
            }
        }
        if (scale == 0) {
            return 0;
        }
        Bidiagonal unit = *this;
        for (std::vector<double>* entries : {&unit.main, &unit.above}) {
            for (double& entry : *entries) {
                entry /= scale;
            }
        }
        double low = 0;
        double high = 4.5;  // (|main| + |above|)^2 <= 4
        for (int i = 0; i < 60; ++i) {
            const double middle = 0.5 * (low + high);
            (unit.has_eigenvalue_above(middle) ? low : high) = middle;
        }
        return scale * std::sqrt(0.5 * (low + high));
    }

    /// |last component| of the right singular vector for `value`.
    double last_component(double value) const
    {
        // (B^T B - value^2) w = 0, row by row, scaled as it goes.
        double before = 0;
        double here = 1;
        double sum = 1;
        for (std::size_t i = 0; i + 1 < main.size(); ++i) {
            const double side = i > 0 ? above[i - 1] : 0;
            const double diagonal = main[i] * main[i] + side * side - value * value;
            const double back = i > 0 ? main[i - 1] * above[i - 1] * before : 0;
            const double link = main[i] * above[i];
            if (link == 0) {
                return 0;
            }
            const double next = -(diagonal * here + back) / link;
            before = here;
            here = next;
            sum += next * next;
            if (sum > 1e100) {
                const double shrink = 1 / std::sqrt(sum);
                before *= shrink;
                here *= shrink;
                sum = 1;
            }
        }
        return std::abs(here) / std::sqrt(sum);
    }
};

void scale(Measurements& y, double factor)
{
    for (at::Tensor& part : y) {
        part = part * factor;
    }
}

}  // namespace

double largest_singular_value(const LinearPhysics& physics, const at::Tensor& like)
{
    std::vector<std::int64_t> shape = like.sizes().vec();
    if (!shape.empty()) {
        shape[0] = std::min<std::int64_t>(shape[0], 1);
    }
    auto generator = at::make_generator<at::CPUGeneratorImpl>(k_seed);
    at::Tensor v = at::randn(shape, generator, at::TensorOptions(at::kDouble)).to(like.options());
    const double start = norm({v});
    if (v.numel() == 0 || start == 0) {
        return 0;
    }
    v = v / start;
    Measurements u = physics.forward(v);
    Bidiagonal matrix;
    double value = 0;
    double alpha = norm(u);
    for (int step = 0; step < k_most_steps; ++step) {
        if (!std::isfinite(alpha)) {
            throw ConfigError(
                "the norm of an operator is not finite (forward() or adjoint() gave NaN or "
                "infinity "
                "for a finite image); mend the operator.");
        }
        matrix.main.push_back(alpha);
        if (alpha == 0) {
            return matrix.largest();
        }
        scale(u, 1 / alpha);
        v = physics.adjoint(u) - alpha * v;
        const double beta = norm({v});
        value = matrix.largest();
        const double residual = beta * matrix.last_component(value);
        // The first steps can look settled on an eigenvector that the start happened to be near.
        if (!(beta > 1e-7 * value) || (step >= 4 && residual < k_tolerance * value)) {
            break;
        }
        v = v / beta;
        matrix.above.push_back(beta);
        Measurements next = physics.forward(v);
        for (std::size_t i = 0; i < next.size(); ++i) {
            next[i] = next[i] - beta * u[i];
        }
        u = std::move(next);
        alpha = norm(u);
        if (!(alpha > 1e-7 * value)) {
            matrix.main.push_back(0);
            value = matrix.largest();
            break;
        }
    }
    return value;
}

}  // namespace iterscope::physics
