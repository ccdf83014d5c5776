// The region context manager as a plain C type: this is the hot path of every Python solver.

#include "bindings.hpp"
#include "shared_profiler.hpp"

namespace iterscope::python {

namespace {

struct RegionObject {
    PyObject_HEAD
        /// Not the Python Profiler: that one caches its regions, and a cycle would keep both alive.
        std::shared_ptr<SharedProfiler>
            shared;
    RegionId id;
    /// Open entries of this run that were made outside the window; their exits may come inside it.
    unsigned outside;
    std::uint32_t run;

    /// Null for a region that never records.
    Profiler* profiler() const noexcept
    {
        return shared == nullptr ? nullptr : shared->profiler.get();
    }
};

PyTypeObject* region_type = nullptr;

RegionObject* as_region(PyObject* object) { return reinterpret_cast<RegionObject*>(object); }

void note_outside(RegionObject& region)
{
    const std::uint32_t run = region.profiler() == nullptr ? 0 : region.profiler()->run_number();
    region.outside = region.run == run ? region.outside + 1 : 1;
    region.run = run;
}

/// The exit belongs to an entry that was made in this run before the window opened.
bool is_exit_of_outside(const RegionObject& region)
{
    return region.outside > 0 && region.run == region.profiler()->run_number() &&
           !region.profiler()->is_open(region.id);
}

PyObject* region_enter(PyObject* object, PyObject* /*unused*/)
{
    RegionObject* self = as_region(object);
    Profiler* profiler = self->profiler();
    if (profiler == nullptr || !profiler->is_recording()) {
        note_outside(*self);
        Py_RETURN_NONE;
    }
    try {
        profiler->enter(self->id);
    } catch (...) {
        set_python_error(std::current_exception());
        return nullptr;
    }
    Py_RETURN_NONE;
}

PyObject* region_exit(PyObject* object, PyObject* const* arguments, Py_ssize_t count)
{
    RegionObject* self = as_region(object);
    Profiler* profiler = self->profiler();
    if (profiler == nullptr || !profiler->is_recording() || is_exit_of_outside(*self)) {
        self->outside -= self->outside > 0 ? 1 : 0;
        Py_RETURN_FALSE;
    }
    try {
        profiler->leave(self->id);
    } catch (const std::exception& error) {
        const bool body_raised = count > 0 && arguments[0] != Py_None;
        if (!body_raised) {
            set_python_error(std::current_exception());
            return nullptr;
        }
        self->shared->lines.warn(error.what());  // the body's exception goes on
    }
    Py_RETURN_FALSE;
}

PyObject* region_call(PyObject* object, PyObject* arguments, PyObject* keywords)
{
    PyObject* function = nullptr;
    static const char* names[] = {"function", nullptr};
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O", const_cast<char**>(names),
                                    &function) == 0) {
        return nullptr;
    }
    PyObject* module = PyImport_ImportModule("iterscope._decorate");
    if (module == nullptr) {
        return nullptr;
    }
    PyObject* decorated = PyObject_CallMethod(module, "decorate", "OO", object, function);
    Py_DECREF(module);
    return decorated;
}

PyObject* region_repr(PyObject* object)
{
    const Profiler* profiler = as_region(object)->profiler();
    if (profiler == nullptr) {
        return PyUnicode_FromString("<iterscope.Region that does not record>");
    }
    const std::string& name = profiler->region_name(as_region(object)->id);
    PyObject* text =
        PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace");
    PyObject* repr =
        text == nullptr ? nullptr : PyUnicode_FromFormat("<iterscope.Region %R>", text);
    Py_XDECREF(text);
    return repr;
}

void region_dealloc(PyObject* object)
{
    PyTypeObject* type = Py_TYPE(object);
    std::destroy_at(&as_region(object)->shared);
    type->tp_free(object);
    Py_DECREF(type);
}

PyMethodDef region_methods[] = {
    {"__enter__", region_enter, METH_NOARGS, "Opens the region."},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(region_exit)),
     METH_FASTCALL, "Closes the region; an exception of the body goes on unchanged."},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot region_slots[] = {
    {Py_tp_doc, const_cast<char*>("A named region: a context manager and a decorator.")},
    {Py_tp_methods, region_methods},
    {Py_tp_call, reinterpret_cast<void*>(region_call)},
    {Py_tp_repr, reinterpret_cast<void*>(region_repr)},
    {Py_tp_dealloc, reinterpret_cast<void*>(region_dealloc)},
    {0, nullptr}};

PyType_Spec region_spec = {"iterscope.Region", sizeof(RegionObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, region_slots};

}  // namespace

bool add_region_type(PyObject* module)
{
    region_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&region_spec));
    return region_type != nullptr &&
           PyModule_AddObjectRef(module, "Region", reinterpret_cast<PyObject*>(region_type)) == 0;
}

PyObject* make_region(std::shared_ptr<SharedProfiler> shared, RegionId region)
{
    PyObject* object = region_type->tp_alloc(region_type, 0);
    if (object != nullptr) {
        std::construct_at(&as_region(object)->shared, std::move(shared));
        as_region(object)->id = region;
        as_region(object)->outside = 0;
        as_region(object)->run = 0;
    }
    return object;
}

PyObject* make_idle_region() { return make_region(nullptr, 0); }

RegionId region_id(PyObject* region) noexcept { return as_region(region)->id; }

}  // namespace iterscope::python
