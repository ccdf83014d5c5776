#include <iterscope/solvers/pnp.hpp>

#include <algorithm>
#include <limits>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>

#include <iterscope/error.hpp>

#include "operators/real_tensor.hpp"
#include "physics/measurements.hpp"
#include "solvers/default_device.hpp"

namespace iterscope {

namespace {

constexpr std::int64_t k_all_finite = std::numeric_limits<std::int64_t>::max();

std::shared_ptr<Profiler> profiler_or_none(std::shared_ptr<Profiler> profiler)
{
    if (profiler != nullptr) {
        return profiler;
    }
    Options options;
    options.mode = Mode::null;
    return make_profiler(options);
}

Measurements checked(const LinearPhysics* physics, const Denoiser* denoiser,
                     Measurements measurements, const PnPOptions& options)
{
    check(options);
    if (physics == nullptr || denoiser == nullptr) {
        throw ConfigError("PnP was given no physics or no denoiser (it is null); give both.");
    }
    physics::check_count(measurements, physics->measurement_count(), "PnP's physics");
    if (measurements.empty()) {
        throw ConfigError("PnP was given no measurements; give at least one tensor.");
    }
    for (const at::Tensor& part : measurements) {
        operators::check_real(part, "PnP");
        TORCH_CHECK_TYPE(part.scalar_type() == measurements[0].scalar_type(),
                         "PnP was given measurements of ", measurements[0].scalar_type(), " and ",
                         part.scalar_type(), "; use one precision.");
    }
    const c10::Device device = solver_device(options.device, measurements[0].device());
    for (at::Tensor& part : measurements) {
        part = part.detach().to(device);
    }
    return measurements;
}

void check_image_size(const std::vector<std::int64_t>& asked, const at::Tensor& image)
{
    if (asked.empty()) {
        return;
    }
    const at::IntArrayRef shape = image.sizes();
    const std::size_t spatial = shape.size() > 2 ? shape.size() - 2 : 0;
    // One number stands for a square or a cube.
    const bool matches =
        asked.size() == 1
            ? std::ranges::all_of(shape.slice(2), [&](auto size) { return size == asked[0]; })
            : asked.size() == spatial && std::ranges::equal(shape.slice(2), asked);
    if (!matches) {
        throw ConfigError(
            "PnP's image_size is not the size of the image that the physics makes; "
            "build the physics and the measurements at that size, or leave it out.");
    }
}

}  // namespace

PnP::PnP(std::shared_ptr<const LinearPhysics> physics, Measurements measurements,
         std::shared_ptr<Denoiser> denoiser, std::shared_ptr<Profiler> profiler, PnPOptions options)
    : physics_(std::move(physics)),
      measurements_(checked(physics_.get(), denoiser.get(), std::move(measurements), options)),
      denoiser_(std::move(denoiser)),
      profiler_(profiler_or_none(std::move(profiler))),
      options_(std::move(options)),
      gradient_(profiler_->region("gradient")),
      denoise_(profiler_->region("denoise")),
      step_size_(options_.step_size)
{
}

void PnP::initialize()
{
    const at::NoGradGuard no_grad;
    const at::Tensor back = physics_->adjoint(measurements_);
    check_image_size(options_.image_size, back);
    if (!options_.step_size) {
        const double largest = physics_->norm_squared(back);
        // A zero operator has no gradient: any step does.
        step_size_ = largest > 0 ? options_.step_size_scale / largest : options_.step_size_scale;
    }
    nonfinite_iteration_.reset();
    first_nonfinite_.reset();
    iteration_ = 0;
    denoiser_->reset();
    pull_ = back * *step_size_;
    switch (options_.init_method) {
        case InitMethod::pseudo_inverse:
            image_ = physics_->pseudo_inverse(measurements_);
            break;
        case InitMethod::zeros:
            image_ = at::zeros_like(back);
            break;
        case InitMethod::adjoint:
            image_ = back;
            break;
    }
    watch(image_, -1);
}

void PnP::step()
{
    if (!image_.defined()) {
        initialize();
    }
    const at::NoGradGuard no_grad;
    at::Tensor z;
    {
        const ScopedRegion region = gradient_.enter();
        z = at::sub(image_, physics_->normal(image_), *step_size_).add_(pull_);
    }
    at::Tensor raw;
    {
        const ScopedRegion region = denoise_.enter();
        raw = denoised(z);
        if (options_.norm_strategy == NormStrategy::clip) {
            const auto [low, high] = options_.value_range.value_or(std::array{0.0, 1.0});
            image_ = at::clamp(raw, low, high);
        } else {
            image_ = raw;
        }
    }
    watch(raw, iteration_);
    ++iteration_;
}

at::Tensor PnP::denoised(const at::Tensor& z)
{
    at::Tensor input = z;
    at::Tensor low;
    at::Tensor scale;
    if (options_.norm_strategy == NormStrategy::dynamic) {
        std::vector<std::int64_t> all_but_batch;
        for (std::int64_t dim = 1; dim < z.dim(); ++dim) {
            all_but_batch.push_back(dim);
        }
        if (options_.value_range) {
            const auto [from, to] = *options_.value_range;
            low = at::full({}, from, z.options());
            scale = at::full({}, to - from, z.options());
        } else {
            low = at::amin(z, all_but_batch, true);
            scale = (at::amax(z, all_but_batch, true) - low).clamp_min(1e-12);
        }
        input = (z - low) / scale;
    }
    at::Tensor result = denoiser_->denoise(input, options_.denoiser_sigma);
    if (!result.defined() || result.sizes() != z.sizes() ||
        result.scalar_type() != z.scalar_type()) {
        throw UsageError(
            "the denoiser gave back another shape or dtype than it was given (PnP needs "
            "an image of the same kind); mend its denoise().");
    }
    if (options_.denoiser_lambda_relaxation) {
        const double weight = *step_size_ * *options_.denoiser_lambda_relaxation;
        result = at::lerp(input, result, weight / (1 + weight));
    }
    if (options_.norm_strategy == NormStrategy::dynamic) {
        // In the precision of the image; never in place, since a denoiser may keep what it
        // returned.
        result = result * scale + low;
    }
    return result;
}

void PnP::watch(const at::Tensor& image, std::int64_t iteration)
{
    if (nonfinite_iteration_) {
        return;
    }
    // One pass over the image: a sum is finite unless an element is not.
    const at::Tensor finite = at::sum(image).isfinite();
    if (image.is_cpu()) {
        if (!finite.item<bool>()) {
            nonfinite_iteration_ = iteration;
            report_nonfinite();
        }
        return;
    }
    // Elsewhere the answer stays on the device, so that no step waits for it.
    if (!first_nonfinite_.defined()) {
        first_nonfinite_ = at::full({}, k_all_finite, image.options().dtype(at::kLong));
    }
    first_nonfinite_ = at::where(finite, first_nonfinite_, first_nonfinite_.clamp_max(iteration));
}

std::optional<std::int64_t> PnP::nonfinite_iteration() const
{
    if (!nonfinite_iteration_ && first_nonfinite_.defined()) {
        const auto found = first_nonfinite_.item<std::int64_t>();
        if (found != k_all_finite) {
            nonfinite_iteration_ = found;
            report_nonfinite();
        }
    }
    return nonfinite_iteration_;
}

void PnP::report_nonfinite() const
{
    if (*nonfinite_iteration_ < 0) {
        TORCH_WARN(
            "iterscope: PnP starts from an image with NaN or infinity; look at the "
            "measurements. The iterations go on.");
    } else {
        TORCH_WARN("iterscope: the image holds NaN or infinity since iteration ",
                   *nonfinite_iteration_,
                   "; try a smaller step_size, and look at the denoiser. The iterations go on.");
    }
}

at::Tensor PnP::reconstruction() const
{
    if (!image_.defined()) {
        throw UsageError("PnP has no image yet; call initialize() first.");
    }
    nonfinite_iteration();
    return image_;
}

double PnP::step_size() const
{
    if (!step_size_) {
        throw UsageError(
            "PnP has no step size yet (it is found from the physics); call initialize() "
            "first, or give step_size.");
    }
    return *step_size_;
}

}  // namespace iterscope
