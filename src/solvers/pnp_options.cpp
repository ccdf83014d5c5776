#include <iterscope/solvers/pnp_options.hpp>

#include <algorithm>
#include <cmath>

#include <iterscope/error.hpp>

namespace iterscope {

namespace {

void require(bool holds, const std::string& name, const std::string& value, const char* rule)
{
    if (!holds) {
        throw ConfigError("PnP was given " + name + " = " + value + "; " + rule);
    }
}

void require_default(bool is_default, const std::string& name, const std::string& value,
                     const char* why)
{
    if (!is_default) {
        throw ConfigError("PnP was given " + name + " = " + value + " (" + why +
                          "); leave it at its default.");
    }
}

std::string text(const std::vector<std::int64_t>& values)
{
    std::string joined = "[";
    for (const std::int64_t value : values) {
        joined += (joined.size() > 1 ? ", " : "") + std::to_string(value);
    }
    return joined + "]";
}

bool all_at_least(const std::vector<std::int64_t>& values, std::int64_t least)
{
    return std::ranges::all_of(values, [least](std::int64_t value) { return value >= least; });
}

}  // namespace

InitMethod parse_init_method(const std::string& name)
{
    if (name == "pseudo_inverse") {
        return InitMethod::pseudo_inverse;
    }
    if (name == "zeros") {
        return InitMethod::zeros;
    }
    if (name == "adjoint") {
        return InitMethod::adjoint;
    }
    throw ConfigError("unknown init_method '" + name +
                      "'; use 'pseudo_inverse', 'zeros' or 'adjoint'.");
}

NormStrategy parse_norm_strategy(const std::string& name)
{
    if (name == "clip") {
        return NormStrategy::clip;
    }
    if (name == "dynamic") {
        return NormStrategy::dynamic;
    }
    throw ConfigError("unknown norm_strategy '" + name + "'; use 'clip' or 'dynamic'.");
}

void check(const PnPOptions& options)
{
    const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
    const auto not_negative = [](double value) { return std::isfinite(value) && value >= 0; };
    require(options.image_size.empty() ||
                (options.image_size.size() <= 3 && all_at_least(options.image_size, 1)),
            "image_size", text(options.image_size), "it is the image's [H, W] or [D, H, W].");
    if (options.step_size) {
        require(positive(*options.step_size), "step_size", std::to_string(*options.step_size),
                "it must be above 0.");
    }
    require(positive(options.step_size_scale), "step_size_scale",
            std::to_string(options.step_size_scale), "it must be above 0.");
    require(not_negative(options.denoiser_sigma), "denoiser_sigma",
            std::to_string(options.denoiser_sigma), "it must be 0 or more.");
    if (options.denoiser_lambda_relaxation) {
        require(not_negative(*options.denoiser_lambda_relaxation), "denoiser_lambda_relaxation",
                std::to_string(*options.denoiser_lambda_relaxation), "it must be 0 or more.");
    }
    if (options.value_range) {
        const auto [low, high] = *options.value_range;
        require(std::isfinite(low) && std::isfinite(high) && low < high, "value_range",
                "(" + std::to_string(low) + ", " + std::to_string(high) + ")",
                "the first must be below the second.");
    }
    require(!options.patch_size.empty() && all_at_least(options.patch_size, 1), "patch_size",
            text(options.patch_size), "sizes must be 1 or more.");
    require(!options.overlap.empty() && all_at_least(options.overlap, 0), "overlap",
            text(options.overlap), "overlaps must be 0 or more.");
    require(options.max_batch_size >= 0, "max_batch_size", std::to_string(options.max_batch_size),
            "it must be 0 or more; 0 is no limit.");
    const char* one_rank = "this version of the solver runs on one rank";
    require_default(!options.distribute_physics, "distribute_physics", "True", one_rank);
    require_default(!options.distribute_denoiser, "distribute_denoiser", "True", one_rank);
    if (options.compile) {
        require(
            *options.compile == "pre" || *options.compile == "post" || *options.compile == "fused",
            "compile", "'" + *options.compile + "'", "it is None, 'pre', 'post' or 'fused'.");
        require_default(false, "compile", "'" + *options.compile + "'",
                        "this version of the solver does not compile");
    }
}

}  // namespace iterscope
