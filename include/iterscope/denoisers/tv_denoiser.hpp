#pragma once

#include <cstdint>
#include <mutex>

#include <iterscope/denoisers/denoiser.hpp>

namespace iterscope {

/// The names in brackets are those of DeepInv's TVDenoiser, whose steps these are.
struct TVOptions {
    /// Inner iterations at most (n_it_max), 0 or more.
    std::int64_t max_iterations = 1000;
    /// An image stops once an inner iteration changes it by less than this fraction (crit).
    double tolerance = 1e-5;
    /// Step of the primal variable (tau), above 0.
    double tau = 0.01;
    /// Over-relaxation (rho), between 0 and 2.
    double rho = 1.99;
    /// Begin where the last call on images of this shape, dtype and device ended.
    bool warm_start = true;
};

/// Total variation: denoise(x, sigma) approaches argmin_z 1/2 |z - x|^2 + sigma TV(z), the
/// isotropic model of Rudin, Osher and Fatemi, by the over-relaxed Chambolle-Pock steps of L.
/// Condat (2013).
///
/// Images [B, C, H, W] and volumes [B, C, D, H, W], float32 or float64; channels and images of a
/// batch do not influence each other. With equal options and inner iterations the result is that of
/// DeepInv's TVDenoiser up to rounding, except that each image of a batch stops for itself.
/// With `warm_start` a second call differs from the first; reset() makes it a first one again.
/// One call at a time: a second thread waits.
class TVDenoiser : public Denoiser {
public:
    /// Throws ConfigError on options outside their range.
    explicit TVDenoiser(TVOptions options = {});

    at::Tensor denoise(const at::Tensor& x, double sigma) override;
    void reset() override;

    const TVOptions& options() const noexcept { return options_; }
    /// Inner iterations that each image [B] of the last call took (int64, on the CPU).
    at::Tensor iterations() const;

private:
    bool can_resume(const at::Tensor& x) const;
    void forget();

    TVOptions options_;
    mutable std::mutex mutex_;
    at::Tensor primal_;
    at::Tensor dual_;
    at::Tensor iterations_;
};

/// Isotropic total variation [B] of images or volumes: the sum over pixels and channels of the
/// length of the vector of forward differences.
at::Tensor total_variation(const at::Tensor& x);

}  // namespace iterscope
