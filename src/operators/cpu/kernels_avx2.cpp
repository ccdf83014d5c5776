// The inner loops for processors that have avx2, fma. No header may follow the pragma: a library
// template compiled under it could be the copy that the linker keeps for every processor.
#include "operators/cpu/kernels.hpp"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#define ITERSCOPE_SIMD_NAMESPACE avx2
#define ITERSCOPE_SIMD_BYTES 32
#include "operators/cpu/kernels_body.inc"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
