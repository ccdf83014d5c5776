#pragma once

#include <Python.h>

#include <iterscope/operator_table.hpp>

namespace iterscope::python {

/// A list of dicts, one a row of the report's direct or full table. Null with a Python error set.
PyObject* operator_rows(const OperatorReport& report, bool full);

}  // namespace iterscope::python
