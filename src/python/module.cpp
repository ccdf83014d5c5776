#include "bindings.hpp"

#include <nanobind/stl/string.h>

#include <iterscope/error.hpp>
#include <iterscope/torch/make_profiler.hpp>

namespace nb = nanobind;

NB_MODULE(_iterscope, module)
{
    using namespace iterscope::python;

    if (!add_errors(module.ptr()) || !add_profiler_types(module.ptr())) {
        throw nb::python_error();
    }
    nb::register_exception_translator([](const std::exception_ptr& exception, void* /*payload*/) {
        try {
            std::rethrow_exception(exception);
        } catch (const iterscope::Error&) {
            set_python_error(std::current_exception());
        }
    });
    module.attr("__version__") = ITERSCOPE_VERSION;
    module.attr("built_torch_version") = iterscope::torch::built_version();

    bind_physics(module);
    bind_denoisers(module);
    bind_solvers(module);
}
