#include "chrome_trace.hpp"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "../../core/run_name.hpp"
#include "../../sinks/file_io.hpp"
#include "kineto_events.hpp"
#include "kineto_log.hpp"
#include "trace_json.hpp"

namespace iterscope {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_cure = "choose another trace_dir, or make this one writable";

void make_folder(const fs::path& folder)
{
    std::error_code error;
    fs::create_directories(folder, error);
    if (error || !fs::is_directory(folder)) {
        throw io_error("creating the folder", folder, error ? error.value() : ENOTDIR);
    }
}

/// False if something of that name exists.
bool create(const fs::path& path, const std::string& text)
{
    try {
        AppendFile::create(path).append(text);
        return true;
    } catch (const IoError&) {
        if (fs::exists(fs::symlink_status(path))) {
            return false;
        }
        throw;
    }
}

/// A file for Kineto to write, that goes with the object. It is made here, because Kineto reports
/// what it cannot open to nobody but the terminal.
struct Temporary {
    explicit Temporary(const fs::path& beside) : path(beside)
    {
        path += "." + std::to_string(getpid()) + ".kineto.json";
        ::unlink(path.c_str());
        AppendFile::create(path);
    }
    ~Temporary() { ::unlink(path.c_str()); }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;

    fs::path path;
};

}  // namespace

ChromeTrace::ChromeTrace(Target target) : target_(std::move(target))
{
    std::error_code error;
    const fs::path base = fs::absolute(target_.folder, error);
    const std::string name = "rank_" + std::to_string(target_.rank) + ".pt.trace.json";
    const std::string own = safe_file_name(target_.run_name);
    fs::path folder = base;
    for (int attempt = 1;; ++attempt) {
        make_folder(folder);
        path_ = folder / name;
        TraceEdits edits;
        edits.rank = target_.rank;
        edits.size = target_.size;
        edits.trace_name = path_.string();
        if (create(path_, empty_trace(edits))) {
            return;
        }
        has_moved_ = true;
        folder = base / (attempt == 1 ? own : own + "-" + std::to_string(attempt));
    }
}

void ChromeTrace::write(::torch::autograd::profiler::ProfilerResult& result,
                        const std::vector<std::string>& region_names)
{
    TraceEdits edits;
    edits.label_prefix = mark_prefix();
    edits.region_names = region_names;
    edits.tracks = extra_tracks(read_events(result, c10::kCPU));
    edits.rank = target_.rank;
    edits.size = target_.size;
    edits.trace_name = path_.string();

    const Temporary raw(path_);
    try {
        const QuietKineto quiet;
        result.save(raw.path.string());
    } catch (const std::exception& error) {
        throw IoError("writing '" + path_.string() + "' failed (" + error.what() + "); " +
                      std::string(k_cure));
    }
    std::ifstream in(raw.path, std::ios::binary);
    if (!in) {
        throw io_error("writing", raw.path, errno);
    }
    Replacement file(path_);
    std::string buffer;
    TraceEditor(edits).copy(in, [&](std::string_view piece) {
        buffer += piece;
        if (buffer.size() >= (1U << 16U)) {
            file.append(buffer);
            buffer.clear();
        }
    });
    file.append(buffer);
    file.commit();
}

void ChromeTrace::cancel() noexcept
{
    ::unlink(path_.c_str());
    if (has_moved_) {
        ::rmdir(path_.parent_path().c_str());
    }
}

}  // namespace iterscope
