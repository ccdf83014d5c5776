#include "operators/cpu/kernels.hpp"

#include <string>

#include <ATen/Version.h>

namespace iterscope::operators::cpu {

template <typename T>
const Kernels<T>* kernels_of(InstructionSet set) noexcept
{
#if defined(__x86_64__)
    if (set == InstructionSet::avx512) {
        const bool there = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
        return there ? &avx512::table<T>() : nullptr;
    }
    if (set == InstructionSet::avx2) {
        const bool there = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        return there ? &avx2::table<T>() : nullptr;
    }
#else
    if (set != InstructionSet::baseline) {
        return nullptr;
    }
#endif
    return &baseline::table<T>();
}

namespace {

template <typename T>
const Kernels<T>& best_kernels()
{
    const std::string allowed = at::get_cpu_capability();
    if (allowed == "AVX512") {
        if (const Kernels<T>* found = kernels_of<T>(InstructionSet::avx512)) {
            return *found;
        }
    }
    if (allowed == "AVX512" || allowed == "AVX2") {
        if (const Kernels<T>* found = kernels_of<T>(InstructionSet::avx2)) {
            return *found;
        }
    }
    return baseline::table<T>();
}

}  // namespace

template <typename T>
const Kernels<T>& kernels()
{
    static const Kernels<T>& best = best_kernels<T>();
    return best;
}

template const Kernels<float>* kernels_of<float>(InstructionSet) noexcept;
template const Kernels<double>* kernels_of<double>(InstructionSet) noexcept;
template const Kernels<float>& kernels<float>();
template const Kernels<double>& kernels<double>();

}  // namespace iterscope::operators::cpu
