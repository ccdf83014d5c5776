#pragma once

#include <memory>
#include <vector>

#include <iterscope/profiler.hpp>

namespace iterscope {

/// Makes the profiler of a backend (null in Mode::null); with `save_file` its files are run.json
/// and those of `file_sinks`, in front of the sinks that `services` brings.
std::unique_ptr<Profiler> assemble(Options options, std::unique_ptr<Backend> backend,
                                   std::vector<std::shared_ptr<Sink>> file_sinks,
                                   Services services);

}  // namespace iterscope
