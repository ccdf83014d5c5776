#include <iterscope/physics/multi_frame_super_resolution.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include <iterscope/error.hpp>

#include "operators/real_tensor.hpp"
#include "operators/superres.hpp"
#include "operators/superres_taps.hpp"
#include "physics/measurements.hpp"
#include "physics/polyphase_spectrum.hpp"

namespace iterscope {

namespace {

std::string text(std::array<std::int64_t, 2> size)
{
    return std::to_string(size[0]) + " x " + std::to_string(size[1]);
}

/// Has no prime factor above 13: FFTs of other lengths take several times as long.
bool is_smooth(std::int64_t length)
{
    for (const std::int64_t prime : {2, 3, 5, 7, 11, 13}) {
        while (length % prime == 0) {
            length /= prime;
        }
    }
    return length == 1;
}

at::Tensor checked_kernels(const at::Tensor& kernels)
{
    operators::check_real(kernels, "MultiFrameSuperResolution (blur kernels)");
    if (kernels.dim() != 3 || kernels.numel() == 0) {
        throw ConfigError("MultiFrameSuperResolution was given blur kernels of " +
                          std::to_string(kernels.dim()) + " dimensions and " +
                          std::to_string(kernels.numel()) +
                          " elements; give [frames, height, width], none of them 0.");
    }
    return kernels.detach().to(at::kCPU, at::kDouble).contiguous().clone();
}

}  // namespace

bool MultiFrameSuperResolution::KeyOrder::operator()(const Key& a, const Key& b) const
{
    const auto rank = [](const Key& key) {
        return std::tuple(key.first.type(), key.first.index(), key.second);
    };
    return rank(a) < rank(b);
}

MultiFrameSuperResolution::MultiFrameSuperResolution(std::array<std::int64_t, 2> image_size,
                                                     const at::Tensor& kernels, std::int64_t factor)
    : image_size_(image_size), factor_(factor), kernels_(checked_kernels(kernels))
{
    if (image_size[0] < 1 || image_size[1] < 1 || factor < 1) {
        throw ConfigError("MultiFrameSuperResolution was given an image of " + text(image_size) +
                          " and a factor of " + std::to_string(factor) +
                          "; all must be 1 or more.");
    }
    use_spectrum_ = prefers_spectrum();
}

MultiFrameSuperResolution::~MultiFrameSuperResolution() = default;

bool MultiFrameSuperResolution::is_divisible() const noexcept
{
    return image_size_[0] % factor_ == 0 && image_size_[1] % factor_ == 0;
}

bool MultiFrameSuperResolution::prefers_spectrum() const
{
    if (!is_divisible()) {
        return false;
    }
    // Multiplications a pixel: those of the direct way, and those that the FFT way takes the time
    // of (measured at 512 x 512, factor 2; both ways scale alike with precision and threads).
    const double phases = static_cast<double>(factor_ * factor_);
    const double fused = static_cast<double>(
        operators::normal_tap_count(kernels_.size(1), kernels_.size(2), factor_));
    const double direct = std::min(fused, 2.0 * static_cast<double>(kernels_.numel())) / phases;
    const double pixels = static_cast<double>(image_size_[0] * image_size_[1]);
    const bool smooth = is_smooth(image_size_[0] / factor_) && is_smooth(image_size_[1] / factor_);
    const double spectral = (smooth ? 12 : 40) * std::log2(pixels + 1) + 18 * phases;
    return direct > spectral;
}

void MultiFrameSuperResolution::check_image(const at::Tensor& x) const
{
    operators::check_real(x, "MultiFrameSuperResolution");
    if (x.dim() != 4 || x.size(2) != image_size_[0] || x.size(3) != image_size_[1]) {
        throw ConfigError("MultiFrameSuperResolution was made for images of " + text(image_size_) +
                          " and was given one of another shape; give [batch, channels, " +
                          std::to_string(image_size_[0]) + ", " + std::to_string(image_size_[1]) +
                          "].");
    }
}

at::Tensor MultiFrameSuperResolution::kernels_like(const at::Tensor& data) const
{
    const std::lock_guard lock(mutex_);
    at::Tensor& kernels = converted_[{data.device(), data.scalar_type()}];
    if (!kernels.defined()) {
        kernels = kernels_.to(data.device(), data.scalar_type());
    }
    return kernels;
}

std::shared_ptr<const physics::PolyphaseSpectrum> MultiFrameSuperResolution::spectrum_like(
    const at::Tensor& data) const
{
    const std::lock_guard lock(mutex_);
    auto& spectrum = spectra_[{data.device(), data.scalar_type()}];
    if (spectrum == nullptr) {
        const at::NoGradGuard no_grad;
        spectrum =
            std::make_shared<physics::PolyphaseSpectrum>(kernels_, image_size_, factor_, data);
    }
    return spectrum;
}

Measurements MultiFrameSuperResolution::forward(const at::Tensor& x) const
{
    check_image(x);
    return operators::superres_forward(x, kernels_like(x), factor_).unbind(0);
}

at::Tensor MultiFrameSuperResolution::adjoint(const Measurements& y) const
{
    physics::check_count(y, measurement_count(), "MultiFrameSuperResolution");
    for (const at::Tensor& frame : y) {
        operators::check_real(frame, "MultiFrameSuperResolution");
        TORCH_CHECK_TYPE(frame.scalar_type() == y[0].scalar_type(),
                         "MultiFrameSuperResolution was given frames of ", y[0].scalar_type(),
                         " and ", frame.scalar_type(), "; use one precision.");
    }
    return operators::superres_adjoint(at::stack(y), kernels_like(y[0]), factor_, image_size_[0],
                                       image_size_[1]);
}

at::Tensor MultiFrameSuperResolution::normal(const at::Tensor& x) const
{
    check_image(x);
    if (use_spectrum_) {
        return spectrum_like(x)->normal(x);
    }
    return operators::superres_normal(x, kernels_like(x), factor_);
}

double MultiFrameSuperResolution::norm_squared(const at::Tensor& like) const
{
    const std::lock_guard lock(norm_mutex_);
    if (norm_squared_ < 0) {
        const at::NoGradGuard no_grad;
        norm_squared_ =
            is_divisible()
                ? physics::PolyphaseSpectrum::largest_eigenvalue(kernels_, image_size_, factor_)
                : LinearPhysics::norm_squared(at::empty({1, 1, image_size_[0], image_size_[1]},
                                                        like.defined()
                                                            ? like.options().dtype(at::kDouble)
                                                            : at::TensorOptions(at::kDouble)));
    }
    return norm_squared_;
}

}  // namespace iterscope
