#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace iterscope {

/// Where PnP begins.
enum class InitMethod { pseudo_inverse, zeros, adjoint };
/// What PnP does about the range of values that its denoiser knows.
enum class NormStrategy { clip, dynamic };

/// Throw ConfigError on a name that is none of the enumerators'.
InitMethod parse_init_method(const std::string& name);
NormStrategy parse_norm_strategy(const std::string& name);

/// Parameters of PnP. Those of a launcher (slurm_*, torchrun_*, name_prefix) are no concern of the
/// solver's and are not here.
struct PnPOptions {
    /// {H, W} or {D, H, W} that the image must have; empty for any.
    std::vector<std::int64_t> image_size;
    /// Step of the gradient; empty: step_size_scale / largest eigenvalue of A^T A.
    std::optional<double> step_size;
    /// Above 0.
    double step_size_scale = 0.99;
    /// Noise level that the denoiser is told, 0 or more.
    double denoiser_sigma = 0.05;
    /// lambda: the denoised image counts alpha = step lambda / (1 + step lambda), what it was made
    /// from counts 1 - alpha. Empty: the denoised image alone.
    std::optional<double> denoiser_lambda_relaxation;
    InitMethod init_method = InitMethod::pseudo_inverse;
    NormStrategy norm_strategy = NormStrategy::clip;
    /// Range {low, high} of the image's values. `clip` clips to it after the denoiser ({0, 1} where
    /// it is empty). `dynamic` maps it to [0, 1] before the denoiser and back after; where it is
    /// empty the range is that of every single image before the denoiser, anew in every step.
    std::optional<std::array<double, 2>> value_range;
    /// "cpu", "cuda:1", ...; empty: CUDA device number <local rank> where there is CUDA (0 if this
    /// process sees one device only), else where the measurements are.
    std::optional<std::string> device;

    /// For several ranks and for compilation; only the defaults are accepted yet, except that sizes
    /// of patches, which have no effect without distribute_denoiser, may be any positive ones.
    std::vector<std::int64_t> patch_size = {128};
    std::vector<std::int64_t> overlap = {32};
    std::int64_t max_batch_size = 0;
    bool distribute_physics = false;
    bool distribute_denoiser = false;
    std::optional<std::string> compile;
};

/// Throws ConfigError on the first parameter outside its range.
void check(const PnPOptions& options);

}  // namespace iterscope
