#include <algorithm>

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include "operators/tv.hpp"

namespace iterscope::operators::cpu {

namespace {

constexpr std::int64_t k_grain = 1 << 14;

/// An axis of an array, seen as lines: `length` rows of `stride` adjacent elements.
struct Axis {
    std::int64_t length;
    std::int64_t stride;
};

template <typename T>
void difference_line(const T* from, T* to, Axis axis)
{
    const std::int64_t last = (axis.length - 1) * axis.stride;
    for (std::int64_t j = 0; j < last; ++j) {
        to[j] = from[j + axis.stride] - from[j];
    }
    std::fill_n(to + last, axis.stride, T(0));
}

template <typename T>
void add_adjoint_line(const T* from, T* to, Axis axis)
{
    const std::int64_t last = (axis.length - 1) * axis.stride;
    for (std::int64_t j = 0; j < last; ++j) {
        to[j] -= from[j];
    }
    for (std::int64_t j = 0; j < last; ++j) {
        to[j + axis.stride] += from[j];
    }
}

/// Calls line(first element) for every line along the axis, in parallel.
template <typename Line>
void for_each_line(std::int64_t elements, Axis axis, const Line& line)
{
    const std::int64_t size = axis.length * axis.stride;
    at::parallel_for(0, elements / size, std::max<std::int64_t>(1, k_grain / size),
                     [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i) {
                             line(i * size);
                         }
                     });
}

}  // namespace

at::Tensor finite_difference(const at::Tensor& x)
{
    check_difference_image(x);
    const at::Tensor image = x.contiguous();
    std::vector<std::int64_t> shape = x.sizes().vec();
    shape.insert(shape.begin(), x.dim() - 2);
    at::Tensor u = at::empty(shape, x.options());
    if (x.numel() == 0) {
        return u;
    }
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "finite_difference", [&] {
        const auto* from = image.const_data_ptr<scalar_t>();
        for (std::int64_t s = 0; s < u.size(0); ++s) {
            auto* const to = u.mutable_data_ptr<scalar_t>() + s * x.numel();
            const Axis axis{x.size(s + 2), image.stride(s + 2)};
            for_each_line(x.numel(), axis,
                          [&](std::int64_t at) { difference_line(from + at, to + at, axis); });
        }
    });
    return u;
}

at::Tensor finite_difference_adjoint(const at::Tensor& u)
{
    check_difference_field(u);
    const at::Tensor field = u.contiguous();
    at::Tensor x = at::empty(u.sizes().slice(1), u.options()).zero_();
    if (x.numel() == 0) {
        return x;
    }
    AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "finite_difference_adjoint", [&] {
        auto* const to = x.mutable_data_ptr<scalar_t>();
        for (std::int64_t s = 0; s < u.size(0); ++s) {
            const auto* from = field.const_data_ptr<scalar_t>() + s * x.numel();
            const Axis axis{x.size(s + 2), x.stride(s + 2)};
            for_each_line(x.numel(), axis,
                          [&](std::int64_t at) { add_adjoint_line(from + at, to + at, axis); });
        }
    });
    return x;
}

}  // namespace iterscope::operators::cpu
