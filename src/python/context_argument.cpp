#include "context_argument.hpp"

namespace iterscope::python {

std::optional<std::int64_t> rank_of(PyObject* context)
{
    if (context == nullptr || context == Py_None) {
        return std::nullopt;
    }
    PyObject* rank = PyObject_GetAttrString(context, "rank");
    PyObject* integer = rank == nullptr ? nullptr : PyNumber_Index(rank);
    std::optional<std::int64_t> value;
    if (integer != nullptr) {
        value = PyLong_AsLongLong(integer);
    }
    Py_XDECREF(integer);
    Py_XDECREF(rank);
    if (PyErr_Occurred() != nullptr) {  // any object is a context; only a usable rank counts
        PyErr_Clear();
        return std::nullopt;
    }
    return value;
}

bool read_context(PyObject* const* arguments, Py_ssize_t count, PyObject* names, PyObject*& context)
{
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    context = nullptr;
    if (count + named == 0) {
        return true;
    }
    const bool is_ctx =
        named == 0 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "ctx") == 0;
    if (count + named > 1 || !is_ctx) {
        PyErr_SetString(PyExc_TypeError, "the only argument is ctx");
        return false;
    }
    context = arguments[0];
    return true;
}

}  // namespace iterscope::python
