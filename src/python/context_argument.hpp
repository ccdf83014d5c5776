#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>

namespace iterscope::python {

/// Reads the only argument, `ctx`, given by place or by name; null when it is not given. False
/// with a Python error set.
bool read_context(PyObject* const* arguments, Py_ssize_t count, PyObject* names,
                  PyObject*& context);

/// Reads the `rank` of a context, which may be any object; empty if it has none that is an integer.
/// False with a Python error set if it was interrupted.
bool rank_of(PyObject* context, std::optional<std::int64_t>& rank);

}  // namespace iterscope::python
