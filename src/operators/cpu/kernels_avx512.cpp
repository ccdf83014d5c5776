// The inner loops for processors that have avx512f, avx512dq, avx2, fma. No header may follow the
// pragma: a library template compiled under it could be the copy that the linker keeps for every
// processor.
#include "operators/cpu/kernels.hpp"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx2,fma,prefer-vector-width=512")
#endif

#define ITERSCOPE_SIMD_NAMESPACE avx512
#define ITERSCOPE_SIMD_BYTES 64
#include "operators/cpu/kernels_body.inc"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
