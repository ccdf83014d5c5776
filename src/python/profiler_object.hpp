#pragma once

#include <Python.h>

#include <memory>
#include <vector>

#include "shared_profiler.hpp"

namespace iterscope::python {

/// The Python Profiler.
struct ProfilerObject {
    PyObject_HEAD std::shared_ptr<SharedProfiler> shared;
    /// Region objects by name.
    PyObject* regions;
    /// What `track_step` gives where nothing will be recorded: in mode None, and after the window.
    PyObject* idle_region;
    /// (callable, arguments) that make an equal, not started profiler; for pickle.
    PyObject* recipe;
    PyObject* weak_references;
    /// Metric names by ColumnId, made when first asked for.
    std::vector<PyObject*> keys;
};

inline ProfilerObject* as_profiler(PyObject* object)
{
    return reinterpret_cast<ProfilerObject*>(object);
}
inline Profiler& profiler_of(PyObject* object) { return *as_profiler(object)->shared->profiler; }

/// Its properties, and its repr().
extern PyGetSetDef profiler_properties[];
PyObject* profiler_repr(PyObject* object);

}  // namespace iterscope::python
