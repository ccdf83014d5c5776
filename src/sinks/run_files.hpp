#pragma once

#include <filesystem>
#include <string>

#include <iterscope/launch.hpp>

namespace iterscope {

/// Folder of all run files, relative to the working directory of `start()`.
inline constexpr const char* k_output_folder = "outputs";

inline constexpr const char* k_run_info_suffix = "_run.json";
inline constexpr const char* k_metrics_suffix = "_gpu_metrics.csv";
inline constexpr const char* k_communication_suffix = "_comm.csv";

struct RunFiles {
    /// Absolute, so that a later change of directory does not move the run.
    std::filesystem::path folder;
    std::string stem;
};

/// Finds the first free stem for `name` and holds it by creating its (empty) run.json, which
/// fails for every other run that tries. Throws IoError when the folder cannot be used.
RunFiles reserve_run_files(const std::string& name, const Launch& launch);

}  // namespace iterscope
