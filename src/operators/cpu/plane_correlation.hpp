#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "operators/cpu/kernels.hpp"
#include "operators/superres_taps.hpp"

namespace iterscope::operators::cpu {

/// One axis of the input of a correlation between planes.
struct PlaneAxis {
    /// Pixels of the source along the axis, and every how many of them a plane has one.
    std::int64_t length;
    std::int64_t factor;
    /// What lies beyond the ends: the source again, or zeros.
    bool circular;
    /// Plane sample that output 0 sits on; negative where the output begins before the source.
    std::int64_t origin;
    /// Output samples.
    std::int64_t outputs;
};

/// Applies a TapTable to one stack of images at a time, band of rows by band of rows: a band's
/// planes, with their border, are gathered into scratch memory that stays in the cache.
template <typename T>
class PlaneCorrelation {
public:
    /// `sources` images of rows.length x columns.length make factor^2 planes each.
    PlaneCorrelation(const TapTable& taps, PlaneAxis rows, PlaneAxis columns, std::int64_t sources);

    std::int64_t bands() const noexcept { return (rows_.outputs + band_ - 1) / band_; }
    std::int64_t band_rows() const noexcept { return band_; }
    std::int64_t first_row(std::int64_t band) const noexcept { return band * band_; }
    std::int64_t row_count(std::int64_t band) const noexcept;
    /// Elements of scratch memory that gather() needs.
    std::size_t scratch_size() const noexcept
    {
        return static_cast<std::size_t>(planes_ * plane_rows_ * plane_columns_);
    }

    /// Fills `scratch` with the planes under a band. Source s begins at images + s * stride.
    void gather(const T* images, std::int64_t stride, std::int64_t band, T* scratch) const;
    /// Output plane `output` of the gathered band: row_count(band) x outputs of the columns.
    void correlate(const T* scratch, std::int64_t output, std::int64_t band, T* out,
                   std::int64_t out_stride) const;

private:
    void gather_row(const T* source, T* out, std::int64_t phase) const;

    const Kernels<T>& kernels_;
    PlaneAxis rows_;
    PlaneAxis columns_;
    std::int64_t sources_;
    std::int64_t rows_before_;
    std::int64_t columns_before_;
    std::int64_t planes_;
    std::int64_t band_;
    std::int64_t plane_rows_;
    std::int64_t plane_columns_;
    std::vector<std::vector<std::ptrdiff_t>> offsets_;
    std::vector<std::vector<T>> weights_;
};

}  // namespace iterscope::operators::cpu
