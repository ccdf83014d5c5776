// The inner loops for any processor of the build's architecture.
#include "operators/cpu/kernels.hpp"

#define ITERSCOPE_SIMD_NAMESPACE baseline
#define ITERSCOPE_SIMD_BYTES 16
#include "operators/cpu/kernels_body.inc"
