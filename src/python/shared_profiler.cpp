#include "shared_profiler.hpp"

#include "bindings.hpp"

namespace iterscope::python {

namespace {

PyObject* decode(const std::string& line)
{
    return PyUnicode_DecodeUTF8(line.data(), static_cast<Py_ssize_t>(line.size()), "replace");
}

}  // namespace

void KeptLines::keep(std::vector<std::string>& lines, std::string line)
{
    const std::lock_guard lock(mutex_);
    lines.push_back(std::move(line));
    is_empty_.store(false, std::memory_order_release);
}

bool KeptLines::say(Py_ssize_t level)
{
    if (empty()) {
        return true;
    }
    std::vector<std::string> infos;
    std::vector<std::string> warnings;
    {
        const std::lock_guard lock(mutex_);
        infos.swap(infos_);
        warnings.swap(warnings_);
        is_empty_.store(true, std::memory_order_release);
    }
    for (const std::string& line : infos) {
        PyObject* text = decode(line);
        if (text != nullptr) {
            PySys_FormatStderr("iterscope: %U\n", text);
            Py_DECREF(text);
        }
    }
    // All are issued; the first that became an error is the one that is raised.
    PyObject* first = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    for (const std::string& line : warnings) {
        PyObject* text = decode(line);
        const int failed =
            text == nullptr ? -1 : PyErr_WarnFormat(warning_category(), level, "%U", text);
        Py_XDECREF(text);
        if (failed != 0 && first == nullptr) {
            PyErr_Fetch(&first, &value, &traceback);
        }
        PyErr_Clear();
    }
    if (first != nullptr) {
        PyErr_Restore(first, value, traceback);
        return false;
    }
    return true;
}

}  // namespace iterscope::python
