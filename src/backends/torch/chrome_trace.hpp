#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/csrc/autograd/profiler_kineto.h>

namespace iterscope {

/// The file `rank_<r>.pt.trace.json` of a run. From its construction on there is a valid trace,
/// without events until the first is written.
class ChromeTrace {
public:
    struct Target {
        std::filesystem::path folder;
        /// Name of a folder inside it for when another run's trace is there already.
        std::string run_name;
        int rank = 0;
        int size = 1;
    };

    /// Makes the folder and holds the name. Throws IoError if it cannot.
    explicit ChromeTrace(Target target);

    /// Replaces the file in one step. `result` can be written once. Throws IoError, and then the
    /// file is as it was.
    void write(::torch::autograd::profiler::ProfilerResult& result,
               const std::vector<std::string>& region_names);

    /// Removes the file: the run has not begun.
    void cancel() noexcept;

    const std::filesystem::path& path() const noexcept { return path_; }
    /// The folder held another run's trace: this one is in a folder of its own inside it.
    bool has_moved() const noexcept { return has_moved_; }

private:
    Target target_;
    std::filesystem::path path_;
    bool has_moved_ = false;
};

}  // namespace iterscope
