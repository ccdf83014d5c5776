#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "operators/cpu/kernels.hpp"

namespace iterscope::operators::cpu {

/// One image of a batch, as slices: a slice is a row of a 2-D image, or a plane of a volume. The
/// slices of all channels are numbered through; differences never cross a channel.
struct TvShape {
    std::int64_t channels;
    std::int64_t slices;
    std::int64_t rows;
    std::int64_t columns;
    /// False in 2-D, where a slice is one row.
    bool has_rows;

    std::int64_t slice_size() const { return rows * columns; }
    std::int64_t total_slices() const { return channels * slices; }
};

/// Primal-dual steps of total variation on one image, in place: one pass over the memory a step,
/// and no allocation after the constructor. A chunk of slices a thread; a chunk needs its
/// neighbours' old values at its two ends, which are set aside before anything is changed.
template <typename T>
class TvPlane {
public:
    TvPlane(TvShape shape, const T* image, T* primal, T* across, T* down, T* along, T tau, T rho,
            T threshold);

    /// One step. With `want_change` returns |change|^2 and |primal|^2; same sum for any threads.
    struct Change {
        double change = 0;
        double size = 0;
    };
    Change step(bool want_change);

private:
    struct Chunk {
        std::int64_t begin;
        std::int64_t end;
        /// Old dual values of the slice before `begin`; extrapolated slice `end`; two slices of
        /// the pipeline.
        std::vector<T> before;
        std::vector<T> beyond;
        std::vector<T> here;
        std::vector<T> next;
    };

    std::int64_t extrapolated_size() const { return shape_.rows * (shape_.columns + 1); }
    bool begins_channel(std::int64_t slice) const { return slice % shape_.slices == 0; }
    void set_aside(Chunk& chunk);
    void run(Chunk& chunk, bool want_change);
    /// Primal step of a slice into `primal_out`; `across_before` is the dual slice before it.
    void primal_slice(std::int64_t slice, const T* across_before, T* primal_out, T* extrapolated,
                      bool want_change);
    void dual_slice(std::int64_t slice, const T* here, const T* next);

    const Kernels<T>& kernels_;
    TvShape shape_;
    const T* image_;
    T* primal_;
    T* across_;
    T* down_;
    T* along_;
    T tau_;
    T rho_;
    T sigma_;
    T threshold_;
    std::vector<T> zeros_;
    std::vector<Chunk> chunks_;
    std::vector<Change> changes_;
};

}  // namespace iterscope::operators::cpu
