#pragma once

#include <ATen/core/Tensor.h>

namespace iterscope {

/// Removes noise of a given level from images [batch, channels, ...].
class Denoiser {
public:
    Denoiser() = default;
    virtual ~Denoiser() = default;
    Denoiser(const Denoiser&) = delete;
    Denoiser& operator=(const Denoiser&) = delete;

    /// `x` without noise of standard deviation `sigma` (in the units of x), in a tensor of the same
    /// shape, dtype and device. `x` is left as it is.
    virtual at::Tensor denoise(const at::Tensor& x, double sigma) = 0;
    /// Forgets what a denoiser keeps between calls; solvers call it before they start.
    virtual void reset() {}
};

}  // namespace iterscope
