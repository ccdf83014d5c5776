#include <string>

#include "profiler_object.hpp"

namespace iterscope::python {

namespace {

PyObject* text_object(const std::string& text)
{
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

PyObject* get_mode(PyObject* object, void* /*unused*/)
{
    const Mode mode = profiler_of(object).options().mode;
    return mode == Mode::null ? Py_NewRef(Py_None) : text_object(std::string(to_string(mode)));
}

PyObject* get_name(PyObject* object, void* /*unused*/)
{
    return text_object(profiler_of(object).options().name);
}

PyObject* get_device(PyObject* object, void* /*unused*/)
{
    return text_object(profiler_of(object).options().device);
}

PyObject* get_run_name(PyObject* object, void* /*unused*/)
{
    return text_object(profiler_of(object).run_name());
}

PyObject* get_is_recording(PyObject* object, void* /*unused*/)
{
    return PyBool_FromLong(profiler_of(object).is_recording() ? 1 : 0);
}

PyObject* get_iteration(PyObject* object, void* /*unused*/)
{
    return PyLong_FromLongLong(profiler_of(object).iteration());
}

PyObject* get_files(PyObject* object, void* /*unused*/)
{
    PyObject* files = PyDict_New();
    for (const auto& [kind, path] : profiler_of(object).files()) {
        PyObject* text = files == nullptr ? nullptr : PyUnicode_DecodeFSDefault(path.c_str());
        if (text == nullptr || PyDict_SetItemString(files, kind.c_str(), text) != 0) {
            Py_XDECREF(text);
            Py_XDECREF(files);
            return nullptr;
        }
        Py_DECREF(text);
    }
    return files;
}

}  // namespace

PyObject* profiler_repr(PyObject* object)
{
    const Options& options = profiler_of(object).options();
    return PyUnicode_FromFormat(
        "<iterscope.Profiler mode=%s name='%s' warmup=%lld active=%lld iteration=%lld>",
        std::string(to_string(options.mode)).c_str(), options.name.c_str(),
        static_cast<long long>(options.warmup), static_cast<long long>(options.active),
        static_cast<long long>(profiler_of(object).iteration()));
}

PyGetSetDef profiler_properties[] = {
    {"mode", get_mode, nullptr, "None, 'custom', 'torch' or 'nvidia'.", nullptr},
    {"name", get_name, nullptr, "The name that was given.", nullptr},
    {"device", get_device, nullptr, "The device that was given.", nullptr},
    {"run_name", get_run_name, nullptr, "Stem of the run's files; '' without files.", nullptr},
    {"files", get_files, nullptr, "Kind and path of each file of the run.", nullptr},
    {"is_recording", get_is_recording, nullptr, "Whether this iteration is recorded.", nullptr},
    {"iteration", get_iteration, nullptr, "0-based index of the running iteration.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace iterscope::python
