#include "operators/superres_taps.hpp"

#include <algorithm>

namespace iterscope::operators {

namespace {

std::int64_t floor_divide(std::int64_t value, std::int64_t by)
{
    return value >= 0 ? value / by : -((by - 1 - value) / by);
}

/// Position `offset` pixels from phase 0 of a pixel: its phase and the distance in samples.
struct Position {
    std::int64_t phase;
    std::int64_t step;
};

Position locate(std::int64_t offset, std::int64_t factor)
{
    const std::int64_t step = floor_divide(offset, factor);
    return {offset - step * factor, step};
}

/// Kernels in double, row by row.
struct KernelView {
    explicit KernelView(const at::Tensor& kernels)
        : tensor(kernels.to(at::kCPU, at::kDouble).contiguous()),
          data(tensor.const_data_ptr<double>()),
          frames(tensor.size(0)),
          height(tensor.size(1)),
          width(tensor.size(2))
    {
    }
    double at(std::int64_t n, std::int64_t row, std::int64_t column) const
    {
        return data[(n * height + row) * width + column];
    }
    /// y[m] = sum_t kernel[t] x[factor m - t + centre]
    std::int64_t centre_row() const { return height / 2; }
    std::int64_t centre_column() const { return width / 2; }

    at::Tensor tensor;
    const double* data;
    std::int64_t frames;
    std::int64_t height;
    std::int64_t width;
};

void measure_reach(TapTable& table)
{
    for (const std::vector<Tap>& taps : table.outputs) {
        for (const Tap& tap : taps) {
            table.rows_before = std::max(table.rows_before, -tap.row);
            table.rows_after = std::max(table.rows_after, tap.row);
            table.columns_before = std::max(table.columns_before, -tap.column);
            table.columns_after = std::max(table.columns_after, tap.column);
        }
    }
}

/// The kernel elements that link phase `p` to samples: those t with p + t - centre = factor * s.
std::vector<std::int64_t> matching(std::int64_t p, std::int64_t size, std::int64_t factor)
{
    std::vector<std::int64_t> elements;
    for (std::int64_t t = 0; t < size; ++t) {
        if (locate(p + t - size / 2, factor).phase == 0) {
            elements.push_back(t);
        }
    }
    return elements;
}

}  // namespace

std::int64_t TapTable::count() const
{
    std::int64_t total = 0;
    for (const std::vector<Tap>& taps : outputs) {
        total += static_cast<std::int64_t>(taps.size());
    }
    return total;
}

TapTable forward_taps(const at::Tensor& kernels, std::int64_t factor)
{
    const KernelView kernel(kernels);
    TapTable table;
    table.outputs.resize(static_cast<std::size_t>(kernel.frames));
    for (std::int64_t n = 0; n < kernel.frames; ++n) {
        for (std::int64_t i = 0; i < kernel.height; ++i) {
            const Position row = locate(kernel.centre_row() - i, factor);
            for (std::int64_t j = 0; j < kernel.width; ++j) {
                const Position column = locate(kernel.centre_column() - j, factor);
                table.outputs[static_cast<std::size_t>(n)].push_back(
                    {row.phase * factor + column.phase, row.step, column.step, kernel.at(n, i, j)});
            }
        }
    }
    measure_reach(table);
    return table;
}

TapTable adjoint_taps(const at::Tensor& kernels, std::int64_t factor)
{
    const KernelView kernel(kernels);
    TapTable table;
    for (std::int64_t p = 0; p < factor; ++p) {
        for (std::int64_t q = 0; q < factor; ++q) {
            std::vector<Tap>& taps = table.outputs.emplace_back();
            for (std::int64_t n = 0; n < kernel.frames; ++n) {
                for (const std::int64_t i : matching(p, kernel.height, factor)) {
                    for (const std::int64_t j : matching(q, kernel.width, factor)) {
                        taps.push_back({n, (p + i - kernel.centre_row()) / factor,
                                        (q + j - kernel.centre_column()) / factor,
                                        kernel.at(n, i, j)});
                    }
                }
            }
        }
    }
    measure_reach(table);
    return table;
}

TapTable normal_taps(const at::Tensor& kernels, std::int64_t factor)
{
    const KernelView kernel(kernels);
    const std::int64_t height = 2 * kernel.height - 1;
    const std::int64_t width = 2 * kernel.width - 1;
    TapTable table;
    std::vector<double> product(static_cast<std::size_t>(height * width));
    for (std::int64_t p = 0; p < factor; ++p) {
        const std::vector<std::int64_t> rows = matching(p, kernel.height, factor);
        for (std::int64_t q = 0; q < factor; ++q) {
            const std::vector<std::int64_t> columns = matching(q, kernel.width, factor);
            std::ranges::fill(product, 0.0);
            for (std::int64_t n = 0; n < kernel.frames; ++n) {
                for (const std::int64_t i : rows) {
                    for (const std::int64_t j : columns) {
                        const double sample = kernel.at(n, i, j);
                        for (std::int64_t k = 0; k < kernel.height; ++k) {
                            double* row = product.data() + (i - k + kernel.height - 1) * width + j +
                                          kernel.width - 1;
                            for (std::int64_t l = 0; l < kernel.width; ++l) {
                                row[-l] += sample * kernel.at(n, k, l);
                            }
                        }
                    }
                }
            }
            std::vector<Tap>& taps = table.outputs.emplace_back();
            for (std::int64_t i = 0; i < height; ++i) {
                const Position row = locate(p + i - (kernel.height - 1), factor);
                for (std::int64_t j = 0; j < width; ++j) {
                    const double weight = product[static_cast<std::size_t>(i * width + j)];
                    if (weight != 0) {
                        const Position column = locate(q + j - (kernel.width - 1), factor);
                        taps.push_back(
                            {row.phase * factor + column.phase, row.step, column.step, weight});
                    }
                }
            }
        }
    }
    measure_reach(table);
    return table;
}

std::int64_t normal_tap_count(std::int64_t height, std::int64_t width, std::int64_t factor)
{
    const auto along = [factor](std::int64_t size) {
        std::int64_t total = 0;
        for (std::int64_t p = 0; p < factor; ++p) {
            const std::vector<std::int64_t> elements = matching(p, size, factor);
            if (!elements.empty()) {
                total += elements.back() - elements.front() + size;
            }
        }
        return total;
    };
    return along(height) * along(width);
}

}  // namespace iterscope::operators
