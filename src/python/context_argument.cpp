#include "context_argument.hpp"

namespace iterscope::python {

bool rank_of(PyObject* context, std::optional<std::int64_t>& rank)
{
    rank.reset();
    if (context == nullptr || context == Py_None) {
        return true;
    }
    PyObject* value = PyObject_GetAttrString(context, "rank");
    PyObject* integer = value == nullptr ? nullptr : PyNumber_Index(value);
    if (integer != nullptr) {
        rank = PyLong_AsLongLong(integer);
    }
    Py_XDECREF(integer);
    Py_XDECREF(value);
    if (PyErr_Occurred() == nullptr) {
        return true;
    }
    rank.reset();
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) {
        return false;  // an interrupt
    }
    PyErr_Clear();  // any object is a context; only a usable rank counts
    return true;
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
