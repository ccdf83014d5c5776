#pragma once

#include <Python.h>

#include <exception>
#include <memory>

#include <nanobind/nanobind.h>

#include <iterscope/profiler.hpp>

namespace iterscope::python {

/// Creates iterscope's exception classes in `module`. Returns false with a Python error set.
bool add_errors(PyObject* module);
/// Sets the Python error that stands for the C++ exception in flight.
void set_python_error(const std::exception_ptr& exception) noexcept;
/// The category of every warning of iterscope (borrowed).
PyObject* warning_category() noexcept;

/// Adds the types Profiler and Region. Returns false with a Python error set.
bool add_profiler_types(PyObject* module);
/// The profiler inside a Python Profiler object. Throws nanobind::type_error for other objects.
std::shared_ptr<Profiler> profiler_from(nanobind::handle object);

void bind_physics(nanobind::module_& module);
void bind_denoisers(nanobind::module_& module);
void bind_solvers(nanobind::module_& module);

}  // namespace iterscope::python
