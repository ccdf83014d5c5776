#include "run_files.hpp"

#include <cerrno>
#include <system_error>

#include "../core/run_name.hpp"
#include "file_io.hpp"

namespace iterscope {

namespace {

namespace fs = std::filesystem;

fs::path make_output_folder()
{
    std::error_code error;
    const fs::path folder = fs::absolute(k_output_folder, error);
    if (!error) {
        fs::create_directories(folder, error);
    }
    if (error || !fs::is_directory(folder)) {
        throw io_error("creating the folder", folder, error ? error.value() : ENOTDIR);
    }
    return folder;
}

/// Creates `path` if nothing has that name. Throws IoError for any other reason.
bool create_if_free(const fs::path& path)
{
    try {
        AppendFile::create(path);
        return true;
    } catch (const IoError&) {
        if (fs::exists(fs::symlink_status(path))) {
            return false;
        }
        throw;
    }
}

}  // namespace

RunFiles reserve_run_files(const std::string& name, const Launch& launch)
{
    RunFiles files{make_output_folder(), {}};
    const std::string safe_name = safe_file_name(name);
    for (int attempt = 1;; ++attempt) {
        files.stem = run_stem(safe_name, launch, attempt);
        const bool is_left_over =
            fs::exists(fs::symlink_status(files.folder / (files.stem + k_metrics_suffix)));
        if (!is_left_over && create_if_free(files.folder / (files.stem + k_run_info_suffix))) {
            return files;
        }
    }
}

}  // namespace iterscope
