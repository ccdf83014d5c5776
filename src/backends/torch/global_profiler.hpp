#pragma once

#include <torch/csrc/profiler/orchestration/observer.h>

namespace iterscope {

/// A profiler of the whole process is on. PyTorch 2.14 gave the question another name.
template <class State = ::torch::profiler::impl::ProfilerStateBase>
bool has_global_profiler()
{
    if constexpr (requires { State::getGlobal(); }) {
        return State::getGlobal() != nullptr;
    } else {
        return State::get(true) != nullptr;
    }
}

}  // namespace iterscope
