#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <iterscope/error.hpp>

namespace iterscope {

/// An IoError that reads `<action> <path> failed (<reason of errno>); <cure>`.
IoError io_error(std::string_view action, const std::filesystem::path& path, int error_number);

/// A file that is only appended to. Every `append` is one write of whole lines: what a killed
/// process leaves behind ends with the last appended line.
class AppendFile {
public:
    AppendFile() = default;
    /// Creates the file; it must not exist. Throws IoError.
    static AppendFile create(const std::filesystem::path& path);
    AppendFile(AppendFile&& other) noexcept;
    AppendFile& operator=(AppendFile&& other) noexcept;
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;
    ~AppendFile();

    /// Appends all of `text` or, where the disk is full, nothing, and throws IoError.
    void append(std::string_view text);
    const std::filesystem::path& path() const noexcept { return path_; }
    /// The same open file under the name that it was given on disk.
    AppendFile renamed(std::filesystem::path path) noexcept
    {
        AppendFile file = std::move(*this);
        file.path_ = std::move(path);
        return file;
    }
    bool is_open() const noexcept { return descriptor_ >= 0; }
    void close() noexcept;

private:
    explicit AppendFile(std::filesystem::path path) : path_(std::move(path)) {}

    std::filesystem::path path_;
    int descriptor_ = -1;
};

/// Writes `text` over the start of an existing file of at least its length and fills the rest with
/// spaces: it needs no free space. Throws IoError.
void overwrite(const std::filesystem::path& path, std::string text);

/// A new file beside `path` that takes its place in one step: readers see the old content or the
/// new, never a part. Without `commit` nothing changes and nothing is left behind.
class Replacement {
public:
    explicit Replacement(const std::filesystem::path& path);
    Replacement(const Replacement&) = delete;
    Replacement& operator=(const Replacement&) = delete;
    ~Replacement();

    void append(std::string_view text) { file_.append(text); }
    /// Takes the place of the old file; returns the new one, open, so that nothing can fail
    /// between the two.
    AppendFile commit();

private:
    std::filesystem::path target_;
    AppendFile file_;
};

}  // namespace iterscope
