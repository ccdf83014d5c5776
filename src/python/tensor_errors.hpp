#pragma once

#include <nanobind/nanobind.h>

namespace iterscope::python {

/// Lets PyTorch's C++ errors arrive as the Python errors that PyTorch itself would raise.
void translate_tensor_errors();

}  // namespace iterscope::python
