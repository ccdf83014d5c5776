#include "operators/cpu/tv_plane.hpp"

#include <algorithm>
#include <utility>

#include <ATen/Parallel.h>

namespace iterscope::operators::cpu {

namespace {

/// Below this many elements a chunk, threads cost more than they bring.
constexpr std::int64_t k_smallest_chunk = 1 << 14;

std::int64_t chunk_count(const TvShape& shape)
{
    const std::int64_t useful = shape.total_slices() * shape.slice_size() / k_smallest_chunk;
    const std::int64_t threads = at::in_parallel_region() ? 1 : at::get_num_threads();
    return std::clamp<std::int64_t>(std::min({threads, useful, shape.total_slices()}), 1, threads);
}

}  // namespace

template <typename T>
TvPlane<T>::TvPlane(TvShape shape, const T* image, T* primal, T* across, T* down, T* along, T tau,
                    T rho, T threshold)
    : kernels_(kernels<T>()),
      shape_(shape),
      image_(image),
      primal_(primal),
      across_(across),
      down_(down),
      along_(along),
      tau_(tau),
      rho_(rho),
      sigma_(static_cast<T>(1 / static_cast<double>(tau) / (shape.has_rows ? 16 : 8))),
      threshold_(threshold),
      zeros_(static_cast<std::size_t>(shape.slice_size()), T(0)),
      changes_(static_cast<std::size_t>(shape.total_slices()))
{
    const std::int64_t count = chunk_count(shape);
    for (std::int64_t c = 0; c < count; ++c) {
        Chunk& chunk = chunks_.emplace_back();
        chunk.begin = c * shape.total_slices() / count;
        chunk.end = (c + 1) * shape.total_slices() / count;
        chunk.before.resize(static_cast<std::size_t>(shape.slice_size()));
        for (std::vector<T>* buffer : {&chunk.beyond, &chunk.here, &chunk.next}) {
            buffer->resize(static_cast<std::size_t>(extrapolated_size()));
        }
    }
}

template <typename T>
typename TvPlane<T>::Change TvPlane<T>::step(bool want_change)
{
    const auto count = static_cast<std::int64_t>(chunks_.size());
    if (count > 1) {
        at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t c = begin; c < end; ++c) {
                set_aside(chunks_[static_cast<std::size_t>(c)]);
            }
        });
    }
    at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
            run(chunks_[static_cast<std::size_t>(c)], want_change);
        }
    });
    Change total;
    if (want_change) {
        for (const Change& slice : changes_) {
            total.change += slice.change;
            total.size += slice.size;
        }
    }
    return total;
}

template <typename T>
void TvPlane<T>::set_aside(Chunk& chunk)
{
    const std::int64_t size = shape_.slice_size();
    if (!begins_channel(chunk.begin)) {
        std::copy_n(across_ + (chunk.begin - 1) * size, size, chunk.before.data());
    }
    if (chunk.end < shape_.total_slices() && !begins_channel(chunk.end)) {
        // The neighbour will make this step itself: here only its extrapolation is wanted.
        primal_slice(chunk.end, across_ + (chunk.end - 1) * size, chunk.next.data(),
                     chunk.beyond.data(), false);
    }
}

template <typename T>
void TvPlane<T>::run(Chunk& chunk, bool want_change)
{
    const std::int64_t size = shape_.slice_size();
    for (std::int64_t slice = chunk.begin; slice < chunk.end; ++slice) {
        if (slice == chunk.begin || begins_channel(slice)) {
            const T* before = begins_channel(slice) ? zeros_.data() : chunk.before.data();
            primal_slice(slice, before, primal_ + slice * size, chunk.here.data(), want_change);
        }
        // The primal step of the next slice reads this slice's dual variable: it comes first.
        if (begins_channel(slice + 1)) {
            dual_slice(slice, chunk.here.data(), chunk.here.data());
        } else if (slice + 1 == chunk.end) {
            dual_slice(slice, chunk.here.data(), chunk.beyond.data());
        } else {
            primal_slice(slice + 1, across_ + slice * size, primal_ + (slice + 1) * size,
                         chunk.next.data(), want_change);
            dual_slice(slice, chunk.here.data(), chunk.next.data());
            std::swap(chunk.here, chunk.next);
        }
    }
}

template <typename T>
void TvPlane<T>::primal_slice(std::int64_t slice, const T* across_before, T* primal_out,
                              T* extrapolated, bool want_change)
{
    // The difference over the far border is 0 whatever the image: its transpose ignores it.
    const bool last_slice = begins_channel(slice + 1);
    Change sum;
    for (std::int64_t r = 0; r < shape_.rows; ++r) {
        const std::int64_t at = slice * shape_.slice_size() + r * shape_.columns;
        T* out = extrapolated + r * (shape_.columns + 1);
        TvPrimalRow<T> row{};
        row.image = image_ + at;
        row.primal = primal_ + at;
        row.across = last_slice ? zeros_.data() : across_ + at;
        row.across_before = across_before + r * shape_.columns;
        if (shape_.has_rows) {
            row.down = r + 1 == shape_.rows ? zeros_.data() : down_ + at;
            row.down_before = r == 0 ? zeros_.data() : down_ + at - shape_.columns;
        }
        row.along = along_ + at;
        row.primal_out = primal_out + r * shape_.columns;
        row.extrapolated = out;
        row.count = shape_.columns;
        row.tau = tau_;
        row.rho = rho_;
        row.want_change = want_change;
        kernels_.tv_primal(row);
        sum.change += row.change;
        sum.size += row.size;
    }
    if (want_change) {
        changes_[static_cast<std::size_t>(slice)] = sum;
    }
}

template <typename T>
void TvPlane<T>::dual_slice(std::int64_t slice, const T* here, const T* next)
{
    for (std::int64_t r = 0; r < shape_.rows; ++r) {
        const std::int64_t at = slice * shape_.slice_size() + r * shape_.columns;
        const std::int64_t from = r * (shape_.columns + 1);
        TvDualRow<T> row{};
        row.here = here + from;
        row.next_slice = next + from;
        row.across = across_ + at;
        row.along = along_ + at;
        if (shape_.has_rows) {
            row.next_row = r + 1 == shape_.rows ? row.here : row.here + shape_.columns + 1;
            row.down = down_ + at;
        }
        row.count = shape_.columns;
        row.sigma = sigma_;
        row.rho = rho_;
        row.threshold = threshold_;
        kernels_.tv_dual(row);
    }
}

template class TvPlane<float>;
template class TvPlane<double>;

}  // namespace iterscope::operators::cpu
