#pragma once

#include <string>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>
#include <nanobind/nanobind.h>

#include "bindings.hpp"

namespace iterscope::python {

/// Keeps PyTorch's C++ warnings of this thread until they can become Python warnings.
class WarningCollector : public c10::WarningHandler {
public:
    void process(const c10::Warning& warning) override { lines_.push_back(warning.msg()); }

    /// Throws nanobind::python_error where the user made warnings errors.
    void issue() const
    {
        for (const std::string& line : lines_) {
            if (PyErr_WarnEx(warning_category(), line.c_str(), 1) != 0) {
                throw nanobind::python_error();
            }
        }
    }

private:
    std::vector<std::string> lines_;
};

/// Runs `work` without the interpreter lock; overrides written in Python take it back themselves.
template <typename Work>
auto call_unlocked(Work&& work)
{
    WarningCollector warnings;
    const auto run = [&] {
        const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
        const nanobind::gil_scoped_release unlocked;
        return std::forward<Work>(work)();
    };
    if constexpr (std::is_void_v<decltype(work())>) {
        run();
        warnings.issue();
    } else {
        auto result = run();
        warnings.issue();
        return result;
    }
}

}  // namespace iterscope::python
