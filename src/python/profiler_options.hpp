#pragma once

#include <Python.h>

#include <iterscope/options.hpp>

#include "shared_profiler.hpp"

namespace iterscope::python {

/// Reads the dict that `create_profiler` has made of its arguments: mode, device, name (str),
/// warmup, active, repeat (int), per_step, save_file (bool), trace_dir (str or None), parameters
/// (dict of str to None, bool, int, float, str). False with a Python error set.
bool read_options(PyObject* given, Options& options);

/// Makes the profiler in `shared`. Throws iterscope::Error.
void make_shared_profiler(Options options, SharedProfiler& shared);

}  // namespace iterscope::python
