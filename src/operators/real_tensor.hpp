#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

namespace iterscope::operators {

/// Throws c10::TypeError (Python: TypeError) unless `tensor` is a dense float32 or float64 one.
inline void check_real(const at::Tensor& tensor, const char* user)
{
    TORCH_CHECK_TYPE(tensor.defined(), user, " was given no tensor.");
    TORCH_CHECK_TYPE(!tensor.is_complex(), user, " was given ", tensor.scalar_type(),
                     " (it is a real operation and would drop the imaginary part); apply it to the "
                     "real and the imaginary part separately.");
    TORCH_CHECK_TYPE(tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble,
                     user, " was given ", tensor.scalar_type(),
                     "; it computes in float32 and float64: convert the data.");
    TORCH_CHECK_TYPE(tensor.layout() == at::kStrided, user, " was given a tensor of layout ",
                     tensor.layout(), "; make it dense.");
}

}  // namespace iterscope::operators
