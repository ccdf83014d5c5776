#include <iterscope/error.hpp>

#include "bindings.hpp"

namespace iterscope::python {

namespace {

// Classes of the one interpreter that this module supports; made once at import.
PyObject* error_class = nullptr;
PyObject* config_error_class = nullptr;
PyObject* usage_error_class = nullptr;
PyObject* io_error_class = nullptr;
PyObject* device_error_class = nullptr;
PyObject* warning_class = nullptr;

PyObject* make_class(PyObject* module, const char* name, const char* doc, PyObject* bases)
{
    PyObject* made =
        PyErr_NewExceptionWithDoc((std::string("iterscope.") + name).c_str(), doc, bases, nullptr);
    if (made == nullptr || PyModule_AddObjectRef(module, name, made) != 0) {
        return nullptr;
    }
    return made;
}

PyObject* make_error(PyObject* module, const char* name, const char* doc, PyObject* builtin)
{
    PyObject* bases = PyTuple_Pack(2, error_class, builtin);
    if (bases == nullptr) {
        return nullptr;
    }
    PyObject* made = make_class(module, name, doc, bases);
    Py_DECREF(bases);
    return made;
}

PyObject* class_of(const Error& error)
{
    if (dynamic_cast<const ConfigError*>(&error) != nullptr) {
        return config_error_class;
    }
    if (dynamic_cast<const UsageError*>(&error) != nullptr) {
        return usage_error_class;
    }
    if (dynamic_cast<const DeviceError*>(&error) != nullptr) {
        return device_error_class;
    }
    return error_class;
}

/// Fills in `errno`. (With a `filename`, OSError would print its own text instead of ours.)
void set_errno(const IoError& error) noexcept
{
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject* number = PyLong_FromLong(error.error_number());
    if (value != nullptr && error.error_number() != 0 && number != nullptr) {
        PyObject_SetAttrString(value, "errno", number);
    }
    Py_XDECREF(number);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

void set_message(PyObject* type, const char* text) noexcept
{
    // Names in a message are any bytes; a bad one must not hide the message.
    PyObject* message =
        PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(strlen(text)), "replace");
    if (message != nullptr) {
        PyErr_SetObject(type, message);
        Py_DECREF(message);
    }
}

}  // namespace

bool add_errors(PyObject* module)
{
    error_class =
        make_class(module, "Error", "Base of every error that iterscope raises.", nullptr);
    if (error_class == nullptr) {
        return false;
    }
    config_error_class = make_error(
        module, "ConfigError", "A wrong option, name or argument, found before any work starts.",
        PyExc_ValueError);
    usage_error_class =
        make_error(module, "UsageError",
                   "A call that does not fit the state of the profiler. It changes nothing.",
                   PyExc_RuntimeError);
    io_error_class = make_error(module, "IoError",
                                "A file or folder that cannot be made or written.", PyExc_OSError);
    device_error_class = make_error(
        module, "DeviceError", "An accelerator that failed while it was synchronised or asked.",
        PyExc_RuntimeError);
    warning_class = make_class(module, "IterscopeWarning",
                               "Something works, but not as it was asked for.", PyExc_UserWarning);
    return config_error_class != nullptr && usage_error_class != nullptr &&
           io_error_class != nullptr && device_error_class != nullptr && warning_class != nullptr;
}

void set_python_error(const std::exception_ptr& exception) noexcept
{
    try {
        std::rethrow_exception(exception);
    } catch (const IoError& error) {
        set_message(io_error_class, error.what());
        set_errno(error);
    } catch (const Error& error) {
        set_message(class_of(error), error.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        set_message(PyExc_RuntimeError, error.what());
    } catch (...) {
        PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
    }
}

PyObject* warning_category() noexcept { return warning_class; }

}  // namespace iterscope::python
