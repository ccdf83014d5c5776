#include "shared_profiler.hpp"

#include <utility>

#include "bindings.hpp"

namespace iterscope::python {

bool say_lines(SharedProfiler& shared)
{
    const std::vector<std::string> infos = std::exchange(shared.infos, {});
    const std::vector<std::string> warnings = std::exchange(shared.warnings, {});
    const auto decode = [](const std::string& line) {
        return PyUnicode_DecodeUTF8(line.data(), static_cast<Py_ssize_t>(line.size()), "replace");
    };
    for (const std::string& line : infos) {
        PyObject* text = decode(line);
        if (text != nullptr) {
            PySys_FormatStderr("iterscope: %U\n", text);
            Py_DECREF(text);
        }
    }
    for (const std::string& line : warnings) {
        PyObject* text = decode(line);
        const int failed =
            text == nullptr ? -1 : PyErr_WarnFormat(warning_category(), 1, "%U", text);
        Py_XDECREF(text);
        if (failed != 0) {
            return false;
        }
    }
    return true;
}

}  // namespace iterscope::python
