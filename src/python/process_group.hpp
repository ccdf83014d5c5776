#pragma once

#include <optional>

#include <nanobind/nanobind.h>

#include <iterscope/launch.hpp>

namespace iterscope::python {

/// Rank and size of torch.distributed, if the program uses it.
inline std::optional<ProcessGroup> process_group()
{
    namespace nb = nanobind;
    const nb::object found = nb::module_::import_("iterscope._launch").attr("process_group")();
    if (found.is_none()) {
        return std::nullopt;
    }
    return ProcessGroup{nb::cast<int>(found[0]), nb::cast<int>(found[1])};
}

}  // namespace iterscope::python
