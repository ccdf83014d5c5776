#pragma once

#include <Python.h>

namespace iterscope::python {

/// Type slots that show Python's garbage collector the user's objects which these C++ objects keep
/// alive. Without them a cycle through C++ (module -> solver -> denoiser -> its class -> module)
/// would never be freed, and nanobind would report leaks at exit.
///
/// There is no Py_tp_clear, as for tuples: what is held is given at construction and never changes,
/// so every cycle also goes through an object of Python's own that can be cleared (a module, an
/// attribute, a closure), and no finalizer meets a solver without its parts.
extern PyType_Slot pnp_slots[];
extern PyType_Slot stacked_physics_slots[];

}  // namespace iterscope::python
