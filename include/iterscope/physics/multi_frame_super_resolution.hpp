#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <iterscope/physics/linear_physics.hpp>

namespace iterscope {

namespace physics {
class PolyphaseSpectrum;
}

/// Several low-resolution frames of one image: frame n is the image blurred by kernel n (circular
/// convolution, centre at element size / 2) and sampled at every `factor`-th row and column.
///
/// Images are [B, C, H, W] in float32 or float64, frames [B, C, ceil(H / factor), ceil(W /
/// factor)]. Any size works; the fused normal operator and the exact norm need a factor that
/// divides it.
class MultiFrameSuperResolution : public LinearPhysics {
public:
    /// `image_size` is {H, W}; `kernels` [N, kh, kw], one a frame. Throws ConfigError.
    MultiFrameSuperResolution(std::array<std::int64_t, 2> image_size, const at::Tensor& kernels,
                              std::int64_t factor = 2);
    ~MultiFrameSuperResolution() override;

    Measurements forward(const at::Tensor& x) const override;
    at::Tensor adjoint(const Measurements& y) const override;
    std::int64_t measurement_count() const override { return kernels_.size(0); }
    /// One pass over the image whatever the number of frames; large kernels by way of the FFT.
    at::Tensor normal(const at::Tensor& x) const override;
    /// Exact where the factor divides the image: A is block-diagonal in frequency.
    double norm_squared(const at::Tensor& like = {}) const override;

    std::array<std::int64_t, 2> image_size() const noexcept { return image_size_; }
    std::int64_t factor() const noexcept { return factor_; }
    /// [N, kh, kw], float64 on the CPU.
    const at::Tensor& kernels() const noexcept { return kernels_; }

private:
    bool is_divisible() const noexcept;
    bool prefers_spectrum() const;
    void check_image(const at::Tensor& x) const;
    at::Tensor kernels_like(const at::Tensor& data) const;
    std::shared_ptr<const physics::PolyphaseSpectrum> spectrum_like(const at::Tensor& data) const;

    using Key = std::pair<c10::Device, c10::ScalarType>;
    struct KeyOrder {
        bool operator()(const Key& a, const Key& b) const;
    };

    std::array<std::int64_t, 2> image_size_;
    std::int64_t factor_;
    at::Tensor kernels_;
    bool use_spectrum_;

    /// Guards what is made when first asked for: once a device and precision.
    mutable std::mutex mutex_;
    mutable std::mutex norm_mutex_;
    mutable std::map<Key, at::Tensor, KeyOrder> converted_;
    mutable std::map<Key, std::shared_ptr<const physics::PolyphaseSpectrum>, KeyOrder> spectra_;
    mutable double norm_squared_ = -1;
};

}  // namespace iterscope
