// The Python Profiler as a plain C type: `track_step`, `end_iteration` and
// `get_current_metrics` run in every iteration.

#include <Python.h>
#include <structmember.h>

#include <iterscope/error.hpp>
#include <iterscope/torch/make_profiler.hpp>

#include "bindings.hpp"
#include "context_argument.hpp"
#include "operator_rows.hpp"
#include "profiler_object.hpp"
#include "profiler_options.hpp"

namespace iterscope::python {

namespace {

PyTypeObject* profiler_type = nullptr;

bool is_null(PyObject* object) { return profiler_of(object).options().mode == Mode::null; }

/// Runs `call` on the profiler and says what it had to say. False with a Python error set.
template <class Call>
bool run(PyObject* object, Call call)
{
    SharedProfiler& shared = *as_profiler(object)->shared;
    try {
        call(*shared.profiler);
    } catch (...) {
        const std::exception_ptr error = std::current_exception();
        if (!shared.lines.say()) {
            PyErr_WriteUnraisable(object);  // a warning made an error must not hide the real one
        }
        set_python_error(error);
        return false;
    }
    return shared.lines.say();
}

PyObject* find_region(PyObject* object, PyObject* name)
{
    ProfilerObject* self = as_profiler(object);
    PyObject* known = PyDict_GetItemWithError(self->regions, name);
    if (known != nullptr || PyErr_Occurred() != nullptr) {
        return known;
    }
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "a region name is a str, not %.200s", Py_TYPE(name)->tp_name);
        return nullptr;
    }
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(name, &length);
    try {
        if (text == nullptr) {
            PyErr_Clear();
            throw ConfigError(
                "the region name is not valid Unicode text (it holds a lone surrogate and cannot "
                "be written to a file); give it another name");
        }
        const RegionId id =
            self->shared->profiler->intern({text, static_cast<std::size_t>(length)});
        PyObject* made = make_region(self->shared, id);
        if (made == nullptr || PyDict_SetItem(self->regions, name, made) != 0) {
            Py_XDECREF(made);
            return nullptr;
        }
        Py_DECREF(made);
        return made;
    } catch (...) {
        set_python_error(std::current_exception());
        return nullptr;
    }
}

PyObject* profiler_track_step(PyObject* object, PyObject* name)
{
    // Where nothing is recorded any more, names are not kept: a solver may make new ones for ever.
    if (is_null(object) || profiler_of(object).is_over()) {
        return Py_NewRef(as_profiler(object)->idle_region);
    }
    PyObject* region = find_region(object, name);
    if (region == nullptr) {
        return nullptr;
    }
    try {
        profiler_of(object).check_name(region_id(region));
    } catch (...) {
        set_python_error(std::current_exception());
        return nullptr;
    }
    return Py_NewRef(region);
}

PyObject* profiler_region(PyObject* object, PyObject* name)
{
    if (is_null(object)) {
        return Py_NewRef(as_profiler(object)->idle_region);
    }
    PyObject* region = find_region(object, name);
    if (region == nullptr) {
        return nullptr;
    }
    try {
        profiler_of(object).require_legal(region_id(region));
    } catch (...) {
        set_python_error(std::current_exception());
        return nullptr;
    }
    return Py_NewRef(region);
}

PyObject* profiler_enter(PyObject* object, PyObject* /*unused*/)
{
    bool is_started = false;
    const auto start = [&](Profiler& profiler) {
        profiler.start();
        is_started = true;
    };
    if (run(object, start)) {
        return Py_NewRef(object);
    }
    if (is_started) {  // a warning became an error: without a body there will be no __exit__
        PyObject* type = nullptr;
        PyObject* value = nullptr;
        PyObject* traceback = nullptr;
        PyErr_Fetch(&type, &value, &traceback);
        run(object, [](Profiler& profiler) { profiler.fail("a warning became an error"); });
        PyErr_Restore(type, value, traceback);
    }
    return nullptr;
}

/// `sys.exit(0)`, and a generator that its consumer has closed: the solver ended as it wanted to.
bool is_normal_end(PyObject* type, PyObject* value)
{
    if (PyErr_GivenExceptionMatches(type, PyExc_GeneratorExit) != 0) {
        return true;
    }
    if (value == nullptr || PyErr_GivenExceptionMatches(type, PyExc_SystemExit) == 0) {
        return false;
    }
    PyObject* code = PyObject_GetAttrString(value, "code");
    const bool is_zero = code != nullptr && (code == Py_None || PyObject_Not(code) == 1);
    Py_XDECREF(code);
    PyErr_Clear();
    return is_zero;
}

/// "ValueError: text" of an exception, for run.json.
std::string describe_exception(PyObject* type, PyObject* value)
{
    std::string text = PyType_Check(type) ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "";
    PyObject* message = value == nullptr ? nullptr : PyObject_Str(value);
    const char* utf8 = message == nullptr ? nullptr : PyUnicode_AsUTF8(message);
    if (utf8 != nullptr && *utf8 != '\0') {
        text += std::string(text.empty() ? "" : ": ") + utf8;
    }
    Py_XDECREF(message);
    PyErr_Clear();
    return text;
}

PyObject* profiler_exit(PyObject* object, PyObject* const* arguments, Py_ssize_t count)
{
    const bool raised = count > 0 && arguments[0] != Py_None;
    const bool failed = raised && !is_normal_end(arguments[0], count > 1 ? arguments[1] : nullptr);
    const std::string error =
        failed ? describe_exception(arguments[0], count > 1 ? arguments[1] : nullptr) : "";
    const bool said = run(
        object, [&](Profiler& profiler) { failed ? profiler.fail(error) : profiler.finalize(); });
    if (!said) {
        if (!raised) {
            return nullptr;
        }
        PyErr_WriteUnraisable(object);  // a warning made an error must not replace the body's
    }
    Py_RETURN_FALSE;
}

PyObject* profiler_start_iterations(PyObject* object, PyObject* /*unused*/)
{
    if (!run(object, [](Profiler& profiler) { profiler.start_iterations(); })) {
        return nullptr;
    }
    Py_RETURN_NONE;
}

/// The methods whose only argument is a context: hands its rank to `call`.
template <class Call>
PyObject* run_with_rank(PyObject* object, PyObject* const* arguments, Py_ssize_t count,
                        PyObject* names, Call call)
{
    PyObject* context = nullptr;
    std::optional<std::int64_t> rank;
    const bool is_read = read_context(arguments, count, names, context) &&
                         (is_null(object) || rank_of(context, rank));
    if (!is_read || !run(object, [&](Profiler& profiler) { call(profiler, rank); })) {
        return nullptr;
    }
    Py_RETURN_NONE;
}

PyObject* profiler_end_iteration(PyObject* object, PyObject* const* arguments, Py_ssize_t count,
                                 PyObject* names)
{
    return run_with_rank(object, arguments, count, names,
                         [](Profiler& profiler, auto rank) { profiler.end_iteration(rank); });
}

PyObject* profiler_finalize(PyObject* object, PyObject* const* arguments, Py_ssize_t count,
                            PyObject* names)
{
    return run_with_rank(object, arguments, count, names,
                         [](Profiler& profiler, auto rank) { profiler.finalize(rank); });
}

/// The metric's name as a Python string (borrowed).
PyObject* key_of(ProfilerObject* self, ColumnId column)
{
    if (self->keys.size() <= column) {
        self->keys.resize(column + 1, nullptr);
    }
    PyObject*& key = self->keys[column];
    if (key == nullptr) {
        const std::string& name = self->shared->profiler->columns().name(column);
        key = PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace");
        if (key != nullptr) {
            PyUnicode_InternInPlace(&key);
        }
    }
    return key;
}

PyObject* profiler_get_current_metrics(PyObject* object, PyObject* /*unused*/)
{
    ProfilerObject* self = as_profiler(object);
    PyObject* metrics = PyDict_New();
    const IterationRecord* record = self->shared->profiler->current_record();
    if (metrics == nullptr || record == nullptr) {
        return metrics;
    }
    for (const Metric& metric : record->metrics) {
        PyObject* key = key_of(self, metric.column);
        PyObject* value = key == nullptr ? nullptr : PyFloat_FromDouble(metric.value);
        const bool failed = value == nullptr || PyDict_SetItem(metrics, key, value) != 0;
        Py_XDECREF(value);
        if (failed) {
            Py_DECREF(metrics);
            return nullptr;
        }
    }
    return metrics;
}

PyObject* profiler_operator_table(PyObject* object, PyObject* const* arguments, Py_ssize_t count,
                                  PyObject* names)
{
    bool full = false;
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    if (count + named == 1 &&
        (named == 0 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "full") == 0)) {
        const int truth = PyObject_IsTrue(arguments[0]);
        if (truth < 0) {
            return nullptr;
        }
        full = truth != 0;
    } else if (count + named != 0) {
        PyErr_SetString(PyExc_TypeError, "the only argument is full");
        return nullptr;
    }
    const IterationRecord* record = profiler_of(object).current_record();
    if (record == nullptr || record->operators == nullptr) {
        return PyList_New(0);
    }
    return operator_rows(*record->operators, full);
}

PyObject* profiler_reduce(PyObject* object, PyObject* /*unused*/)
{
    return Py_NewRef(as_profiler(object)->recipe);
}

PyObject* profiler_new(PyTypeObject* type, PyObject* arguments, PyObject* /*keywords*/)
{
    PyObject* recipe = nullptr;
    PyObject* given = nullptr;
    if (PyArg_ParseTuple(arguments, "O!O!", &PyDict_Type, &given, &PyTuple_Type, &recipe) == 0) {
        return nullptr;
    }
    PyObject* object = type->tp_alloc(type, 0);
    if (object == nullptr) {
        return nullptr;
    }
    ProfilerObject* self = as_profiler(object);
    std::construct_at(&self->shared, std::make_shared<SharedProfiler>());
    std::construct_at(&self->keys);
    self->regions = PyDict_New();
    self->idle_region = make_idle_region();
    self->recipe = Py_NewRef(recipe);
    self->weak_references = nullptr;
    if (self->regions == nullptr || self->idle_region == nullptr) {
        Py_DECREF(object);
        return nullptr;
    }
    try {
        Options options;
        if (!read_options(given, options)) {
            Py_DECREF(object);
            return nullptr;
        }
        make_shared_profiler(std::move(options), *self->shared);
    } catch (...) {
        set_python_error(std::current_exception());
        Py_DECREF(object);
        return nullptr;
    }
    if (!self->shared->lines.say(2)) {  // above create_profiler
        Py_DECREF(object);
        return nullptr;
    }
    return object;
}

void profiler_dealloc(PyObject* object)
{
    ProfilerObject* self = as_profiler(object);
    if (self->weak_references != nullptr) {
        PyObject_ClearWeakRefs(object);
    }
    if (self->shared->profiler != nullptr) {
        // Regions may keep the C++ profiler alive; the run ends with the Python object. A
        // deallocation may happen while an exception travels, which must go on.
        PyObject* type = nullptr;
        PyObject* value = nullptr;
        PyObject* traceback = nullptr;
        PyErr_Fetch(&type, &value, &traceback);
        self->shared->profiler->close();
        if (!self->shared->lines.say()) {
            PyErr_WriteUnraisable(nullptr);
        }
        PyErr_Restore(type, value, traceback);
    }
    for (PyObject* key : self->keys) {
        Py_XDECREF(key);
    }
    Py_XDECREF(self->regions);
    Py_XDECREF(self->idle_region);
    Py_XDECREF(self->recipe);
    std::destroy_at(&self->keys);
    std::destroy_at(&self->shared);
    PyTypeObject* object_type = Py_TYPE(object);
    object_type->tp_free(object);
    Py_DECREF(object_type);
}

template <class Function>
PyCFunction as_method(Function* function)
{
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef profiler_methods[] = {
    {"__enter__", profiler_enter, METH_NOARGS, "Begins a run."},
    {"__exit__", as_method(profiler_exit), METH_FASTCALL,
     "Ends the run; after an exception as failed."},
    {"track_step", profiler_track_step, METH_O,
     "track_step($self, name, /)\n--\n\nThe region of that name, a context manager and a "
     "decorator."},
    {"region", profiler_region, METH_O,
     "region($self, name, /)\n--\n\nThe same, with the name checked at once: make it once, enter "
     "it often."},
    {"start_iterations", profiler_start_iterations, METH_NOARGS,
     "start_iterations($self)\n--\n\nRestarts the clock of iteration 0; call it right before the "
     "loop."},
    {"end_iteration", as_method(profiler_end_iteration), METH_FASTCALL | METH_KEYWORDS,
     "end_iteration($self, ctx=None)\n--\n\nCloses the iteration and records it inside the "
     "window."},
    {"get_current_metrics", profiler_get_current_metrics, METH_NOARGS,
     "get_current_metrics($self)\n--\n\nMetrics of the iteration that ended last, in seconds and "
     "MiB; "
     "empty unless it was recorded."},
    {"operator_table", as_method(profiler_operator_table), METH_FASTCALL | METH_KEYWORDS,
     "operator_table($self, full=False)\n--\n\nMode torch: the operators of the iteration that "
     "ended "
     "last, "
     "as the CSV has them; with full those at any depth."},
    {"finalize", as_method(profiler_finalize), METH_FASTCALL | METH_KEYWORDS,
     "finalize($self, ctx=None)\n--\n\nEnds the run; idempotent."},
    {"__reduce__", profiler_reduce, METH_NOARGS, "A not started profiler with equal options."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef profiler_members[] = {{"__weaklistoffset__", T_PYSSIZET,
                                   offsetof(ProfilerObject, weak_references), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};

PyType_Slot profiler_slots[] = {
    {Py_tp_doc, const_cast<char*>("Records named regions of an iterative solver; made by "
                                  "iterscope.create_profiler.")},
    {Py_tp_new, reinterpret_cast<void*>(profiler_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(profiler_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(profiler_repr)},
    {Py_tp_methods, profiler_methods},
    {Py_tp_members, profiler_members},
    {Py_tp_getset, profiler_properties},
    {0, nullptr}};

PyType_Spec profiler_spec = {"iterscope.Profiler", sizeof(ProfilerObject), 0, Py_TPFLAGS_DEFAULT,
                             profiler_slots};

}  // namespace

bool add_profiler_types(PyObject* module)
{
    if (!add_region_type(module)) {
        return false;
    }
    profiler_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&profiler_spec));
    return profiler_type != nullptr &&
           PyModule_AddObjectRef(module, "Profiler", reinterpret_cast<PyObject*>(profiler_type)) ==
               0;
}

std::shared_ptr<Profiler> profiler_from(nanobind::handle object)
{
    if (Py_TYPE(object.ptr()) != profiler_type) {
        throw nanobind::type_error(
            "profiler: an iterscope.Profiler is wanted; make one with "
            "iterscope.create_profiler");
    }
    const std::shared_ptr<SharedProfiler>& shared = as_profiler(object.ptr())->shared;
    return {shared, shared->profiler.get()};
}

}  // namespace iterscope::python
