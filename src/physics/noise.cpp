#include <iterscope/physics/noise.hpp>

#include <cmath>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>

#include <iterscope/error.hpp>

#include "operators/real_tensor.hpp"

namespace iterscope {

Measurements add_gaussian_noise(const Measurements& y, double sigma, std::uint64_t seed)
{
    if (!(sigma >= 0) || !std::isfinite(sigma)) {
        throw ConfigError("the noise level is " + std::to_string(sigma) +
                          "; give a standard deviation of 0 or more.");
    }
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    Measurements noisy;
    noisy.reserve(y.size());
    for (const at::Tensor& part : y) {
        operators::check_real(part, "Gaussian noise");
        // Drawn in float32 whatever the precision, so that both see the same noise.
        const at::Tensor noise =
            at::randn(part.sizes(), generator, at::TensorOptions(at::kFloat)).to(part.options());
        noisy.push_back(part + sigma * noise);
    }
    return noisy;
}

}  // namespace iterscope
