#include "garbage_collection.hpp"

#include <memory>

#include <nanobind/nanobind.h>

#include <iterscope/physics/stacked_physics.hpp>
#include <iterscope/solvers/pnp.hpp>

namespace nb = nanobind;

namespace iterscope::python {

namespace {

/// `held` owns one reference to its Python object, if it has one: the binding makes a new
/// shared_ptr of every argument.
template <typename T>
int visit_held(const std::shared_ptr<T>& held, visitproc visit, void* arg)
{
    // By the bare pointer: nb::find makes a Python object for a shared_ptr that has none.
    const nb::object object = nb::find(held.get());
    Py_VISIT(object.ptr());
    return 0;
}

int visit_all(const PnP& solver, visitproc visit, void* arg)
{
    const int stop = visit_held(solver.physics(), visit, arg);
    return stop != 0 ? stop : visit_held(solver.denoiser(), visit, arg);
}

int visit_all(const StackedPhysics& physics, visitproc visit, void* arg)
{
    for (const auto& part : physics.operators()) {
        if (const int stop = visit_held(part, visit, arg); stop != 0) {
            return stop;
        }
    }
    return 0;
}

template <typename T>
int traverse(PyObject* self, visitproc visit, void* arg)
{
    Py_VISIT(Py_TYPE(self));
    // Python code may run inside the constructor, when there is nothing to look at yet.
    return nb::inst_ready(self) ? visit_all(*nb::inst_ptr<T>(self), visit, arg) : 0;
}

}  // namespace

PyType_Slot pnp_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse<PnP>)}, {0, nullptr}};
PyType_Slot stacked_physics_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse<StackedPhysics>)}, {0, nullptr}};

}  // namespace iterscope::python
