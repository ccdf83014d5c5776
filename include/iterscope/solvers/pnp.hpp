#pragma once

#include <cstdint>
#include <memory>

#include <iterscope/denoisers/denoiser.hpp>
#include <iterscope/physics/linear_physics.hpp>
#include <iterscope/profiler.hpp>
#include <iterscope/solvers/pnp_options.hpp>

namespace iterscope {

/// Plug-and-play proximal gradient descent (Venkatakrishnan, Bouman and Wohlberg, 2013). One step:
///     region "gradient"   z = x - step A^T (A x - y)
///     region "denoise"    x = D_sigma(z), relaxed and kept in range as the options say
/// The data fidelity is 1/2 |A x - y|^2, a sum over the operators. No gradients are recorded.
///
/// Whoever owns the loop owns the profiler: start_iterations() after initialize(), end_iteration()
/// after every step().
class PnP {
public:
    /// Moves the measurements to the solver's device; operators and denoisers of the user's own
    /// must work there. A null profiler measures nothing. Throws ConfigError on null or wrong
    /// arguments.
    PnP(std::shared_ptr<const LinearPhysics> physics, Measurements measurements,
        std::shared_ptr<Denoiser> denoiser, std::shared_ptr<Profiler> profiler = {},
        PnPOptions options = {});

    /// Sets the first image and the step size, and resets the denoiser. May be called again to
    /// start anew.
    void initialize();
    /// One iteration; the first one calls initialize() if nobody has.
    void step();
    /// The present image [batch, channels, ...]. Later steps make new ones and leave it alone.
    at::Tensor reconstruction() const;

    /// Step of the gradient. Throws UsageError before initialize() unless it was given.
    double step_size() const;
    /// Steps done since initialize().
    std::int64_t iteration() const noexcept { return iteration_; }
    /// The first step (from 0) that gave NaN or infinity, -1 for the start itself; empty if none
    /// did. There is one warning, and the steps go on. On an accelerator this waits for the device,
    /// and the warning comes from here or from reconstruction().
    std::optional<std::int64_t> nonfinite_iteration() const;

    const PnPOptions& options() const noexcept { return options_; }
    const std::shared_ptr<const LinearPhysics>& physics() const noexcept { return physics_; }
    const std::shared_ptr<Denoiser>& denoiser() const noexcept { return denoiser_; }

private:
    at::Tensor first_image() const;
    at::Tensor denoised(const at::Tensor& z);
    void watch(const at::Tensor& image, std::int64_t iteration);
    void report_nonfinite() const;

    std::shared_ptr<const LinearPhysics> physics_;
    Measurements measurements_;
    std::shared_ptr<Denoiser> denoiser_;
    std::shared_ptr<Profiler> profiler_;
    PnPOptions options_;
    Region gradient_;
    Region denoise_;

    at::Tensor image_;
    /// step A^T y, which does not change from step to step.
    at::Tensor pull_;
    std::optional<double> step_size_;
    std::int64_t iteration_ = 0;

    /// On an accelerator: 0-dim int64 there, the first bad step, or k_all_finite.
    at::Tensor first_nonfinite_;
    mutable std::optional<std::int64_t> nonfinite_iteration_;
};

}  // namespace iterscope
