#include "operators/cpu/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace iterscope::operators::cpu {
namespace {

/// Every instruction set of this processor, in both precisions, against the formulas.
template <typename T>
class KernelsOf : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(KernelsOf, Precisions);

constexpr InstructionSet k_sets[] = {InstructionSet::baseline, InstructionSet::avx2,
                                     InstructionSet::avx512};

template <typename T>
std::vector<T> wave(std::size_t size, double frequency)
{
    std::vector<T> values(size);
    for (std::size_t i = 0; i < size; ++i) {
        values[i] = static_cast<T>(std::sin(frequency * static_cast<double>(i + 1)));
    }
    return values;
}

TYPED_TEST(KernelsOf, BaselineIsAlwaysThere)
{
    EXPECT_NE(kernels_of<TypeParam>(InstructionSet::baseline), nullptr);
}

TYPED_TEST(KernelsOf, CorrelateAnyNumberOfRowsAndColumns)
{
    constexpr std::ptrdiff_t k_stride = 80;
    const std::vector<TypeParam> in = wave<TypeParam>(20 * k_stride, 0.7);
    const std::vector<std::ptrdiff_t> offsets = {0, 1, k_stride, 2 * k_stride + 3};
    const std::vector<TypeParam> weights = {1, -2, 3, TypeParam(0.5)};
    for (const InstructionSet set : k_sets) {
        const Kernels<TypeParam>* kernels = kernels_of<TypeParam>(set);
        if (kernels == nullptr) {
            continue;
        }
        for (std::ptrdiff_t rows = 1; rows <= 9; ++rows) {
            for (std::ptrdiff_t columns = 1; columns <= 70; ++columns) {
                std::vector<TypeParam> out(static_cast<std::size_t>(rows * columns + 1), 99);
                kernels->correlate(in.data(), k_stride, offsets.data(), weights.data(), 4,
                                   out.data(), columns, rows, columns);
                for (std::ptrdiff_t r = 0; r < rows; ++r) {
                    for (std::ptrdiff_t j = 0; j < columns; ++j) {
                        double sum = 0;
                        for (std::size_t t = 0; t < 4; ++t) {
                            const std::ptrdiff_t at = offsets[t] + r * k_stride + j;
                            sum += static_cast<double>(weights[t]) *
                                   static_cast<double>(in[static_cast<std::size_t>(at)]);
                        }
                        const auto got = out[static_cast<std::size_t>(r * columns + j)];
                        ASSERT_NEAR(static_cast<double>(got), sum, 1e-5) << rows << "x" << columns;
                    }
                }
                ASSERT_EQ(out.back(), TypeParam(99)) << "written past the end";
            }
        }
    }
}

TYPED_TEST(KernelsOf, MergeUndoesSplit)
{
    for (const InstructionSet set : k_sets) {
        const Kernels<TypeParam>* kernels = kernels_of<TypeParam>(set);
        for (std::ptrdiff_t factor = 1; kernels != nullptr && factor <= 6; ++factor) {
            constexpr std::ptrdiff_t k_count = 37;
            const auto size = static_cast<std::size_t>(factor * k_count);
            const std::vector<TypeParam> in = wave<TypeParam>(size, 0.3);
            std::vector<TypeParam> phases(size);
            std::vector<TypeParam> out(size);
            for (std::ptrdiff_t q = 0; q < factor; ++q) {
                // The last phase of a row ends at its last element.
                kernels->split(in.data() + q, phases.data() + q * k_count, k_count, factor);
            }
            kernels->merge(phases.data(), k_count, out.data(), k_count, factor);
            EXPECT_EQ(out, in);
        }
    }
}

TYPED_TEST(KernelsOf, EveryInstructionSetMakesTheSameTvStep)
{
    for (const std::size_t count : {1, 2, 15, 16, 17, 40, 67}) {
        const std::vector<TypeParam> image = wave<TypeParam>(count, 0.9);
        std::vector<std::vector<double>> results;
        for (const InstructionSet set : k_sets) {
            const Kernels<TypeParam>* kernels = kernels_of<TypeParam>(set);
            if (kernels == nullptr) {
                continue;
            }
            std::vector<TypeParam> primal = wave<TypeParam>(count, 0.5);
            std::vector<TypeParam> across = wave<TypeParam>(count, 0.2);
            std::vector<TypeParam> along = wave<TypeParam>(count, 0.4);
            const std::vector<TypeParam> before = wave<TypeParam>(count, 0.6);
            std::vector<TypeParam> extrapolated(count + 1);
            TvPrimalRow<TypeParam> row{};
            row.image = image.data();
            row.primal = primal.data();
            row.primal_out = primal.data();
            row.across = across.data();
            row.across_before = before.data();
            row.along = along.data();
            row.extrapolated = extrapolated.data();
            row.count = static_cast<std::ptrdiff_t>(count);
            row.tau = TypeParam(0.1);
            row.rho = TypeParam(1.5);
            row.want_change = true;
            kernels->tv_primal(row);
            TvDualRow<TypeParam> dual{};
            dual.here = extrapolated.data();
            dual.next_slice = before.data();
            dual.across = across.data();
            dual.along = along.data();
            dual.count = row.count;
            dual.sigma = TypeParam(1.25);
            dual.rho = TypeParam(1.5);
            dual.threshold = TypeParam(0.2);
            kernels->tv_dual(dual);
            EXPECT_EQ(extrapolated[count], extrapolated[count - 1]);
            std::vector<double>& result = results.emplace_back();
            for (const auto* values : {&primal, &across, &along, &extrapolated}) {
                result.insert(result.end(), values->begin(), values->end());
            }
            result.push_back(row.change);
            result.push_back(row.size);
        }
        for (const std::vector<double>& result : results) {
            for (std::size_t i = 0; i < result.size(); ++i) {
                ASSERT_NEAR(result[i], results[0][i], 1e-4) << i << " of " << count;
            }
        }
    }
}

}  // namespace
}  // namespace iterscope::operators::cpu
