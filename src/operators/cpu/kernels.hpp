#pragma once

#include <cstddef>

namespace iterscope::operators::cpu {

/// One row of the primal step of total variation, see tv.cpp. Every pointer is to `count`
/// elements; rows that do not exist (before the first, the last one's own) are rows of zeros.
template <typename T>
struct TvPrimalRow {
    const T* image;
    const T* primal;
    /// Dual variable across slices, across rows (null in 2-D) and along the row.
    const T* across;
    const T* across_before;
    const T* down;
    const T* down_before;
    const T* along;
    /// May be `primal`.
    T* primal_out;
    /// 2 x - primal; one element longer than the row: the last one is repeated.
    T* extrapolated;
    std::ptrdiff_t count;
    T tau;
    T rho;
    /// Set by the kernel when `want_change`: squared norms of the update and of the new primal.
    bool want_change;
    double change;
    double size;
};

/// One row of the dual step of total variation; `next_*` are the neighbouring rows of the
/// extrapolated image, or the row itself at the border.
template <typename T>
struct TvDualRow {
    const T* here;
    const T* next_slice;
    /// Null in 2-D.
    const T* next_row;
    T* across;
    /// Null in 2-D.
    T* down;
    T* along;
    std::ptrdiff_t count;
    T sigma;
    T rho;
    T threshold;
};

/// The inner loops, compiled once an instruction set (kernels_*.cpp) and chosen at run time.
template <typename T>
struct Kernels {
    /// out[r * out_stride + j] = sum_t weights[t] * in[offsets[t] + r * in_stride + j]
    void (*correlate)(const T* in, std::ptrdiff_t in_stride, const std::ptrdiff_t* offsets,
                      const T* weights, std::ptrdiff_t taps, T* out, std::ptrdiff_t out_stride,
                      std::ptrdiff_t rows, std::ptrdiff_t columns);
    /// out[i] = in[i * factor]
    void (*split)(const T* in, T* out, std::ptrdiff_t count, std::ptrdiff_t factor);
    /// out[i * factor + q] = in[q * in_stride + i] for q < factor
    void (*merge)(const T* in, std::ptrdiff_t in_stride, T* out, std::ptrdiff_t count,
                  std::ptrdiff_t factor);
    void (*tv_primal)(TvPrimalRow<T>& row);
    void (*tv_dual)(const TvDualRow<T>& row);
};

enum class InstructionSet { baseline, avx2, avx512 };

/// The kernels of one instruction set; null where this build or this processor lacks it.
template <typename T>
const Kernels<T>* kernels_of(InstructionSet set) noexcept;

/// The best ones here. `ATEN_CPU_CAPABILITY` limits them as it limits PyTorch's own.
template <typename T>
const Kernels<T>& kernels();

namespace baseline {
template <typename T>
const Kernels<T>& table() noexcept;
}
namespace avx2 {
template <typename T>
const Kernels<T>& table() noexcept;
}
namespace avx512 {
template <typename T>
const Kernels<T>& table() noexcept;
}

}  // namespace iterscope::operators::cpu
