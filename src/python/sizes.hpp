#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

namespace iterscope::python {

/// An int, or a sequence of ints, as sizes. Throws nanobind::type_error that names the argument.
inline std::vector<std::int64_t> sizes_from(nanobind::handle value, const char* name)
{
    namespace nb = nanobind;
    const auto one = [name](nb::handle item) {
        std::int64_t number = 0;
        if (PyBool_Check(item.ptr()) || !nb::try_cast(item, number)) {
            throw nb::type_error(
                (std::string(name) + " must be an integer or a sequence of integers.").c_str());
        }
        return number;
    };
    std::vector<std::int64_t> sizes;
    if (PySequence_Check(value.ptr()) && !PyUnicode_Check(value.ptr())) {
        for (const nb::handle item : nb::borrow<nb::sequence>(value)) {
            sizes.push_back(one(item));
        }
    } else {
        sizes.push_back(one(value));
    }
    return sizes;
}

}  // namespace iterscope::python
