#include <c10/util/Exception.h>

#include "tensor_errors.hpp"

namespace nb = nanobind;

namespace iterscope::python {

void translate_tensor_errors()
{
    nb::register_exception_translator([](const std::exception_ptr& exception, void* /*payload*/) {
        try {
            std::rethrow_exception(exception);
        } catch (const c10::TypeError& error) {
            PyErr_SetString(PyExc_TypeError, error.what_without_backtrace());
        } catch (const c10::ValueError& error) {
            PyErr_SetString(PyExc_ValueError, error.what_without_backtrace());
        } catch (const c10::NotImplementedError& error) {
            PyErr_SetString(PyExc_NotImplementedError, error.what_without_backtrace());
        } catch (const c10::Error& error) {
            PyErr_SetString(PyExc_RuntimeError, error.what_without_backtrace());
        }
    });
}

}  // namespace iterscope::python
