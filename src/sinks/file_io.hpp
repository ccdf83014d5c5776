#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <iterscope/error.hpp>

namespace iterscope {

/// An IoError that reads `<action> <path> failed (<reason of errno>); <cure>`.
IoError io_error(std::string_view action, const std::filesystem::path& path, int error_number,
                 std::string_view cure);

/// A file that is only appended to. Every `append` is one write of whole lines: what a killed
/// process leaves behind ends with the last appended line.
class AppendFile {
public:
    AppendFile() = default;
    /// Creates the file; it must not exist. Throws IoError.
    static AppendFile create(const std::filesystem::path& path);
    /// Opens a file that exists. Throws IoError.
    static AppendFile open(const std::filesystem::path& path);

    AppendFile(AppendFile&& other) noexcept;
    AppendFile& operator=(AppendFile&& other) noexcept;
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;
    ~AppendFile();

    /// Appends all of `text` or, where the disk is full, nothing, and throws IoError.
    void append(std::string_view text);
    const std::filesystem::path& path() const noexcept { return path_; }
    bool is_open() const noexcept { return descriptor_ >= 0; }
    void close() noexcept;

private:
    AppendFile(std::filesystem::path path, int flags, std::string_view action);

    std::filesystem::path path_;
    int descriptor_ = -1;
};

/// A new file beside `path` that takes its place in one step: readers see the old content or the
/// new, never a part. Without `commit` nothing changes and nothing is left behind.
class Replacement {
public:
    explicit Replacement(const std::filesystem::path& path);
    Replacement(const Replacement&) = delete;
    Replacement& operator=(const Replacement&) = delete;
    ~Replacement();

    void append(std::string_view text) { file_.append(text); }
    void commit();

private:
    std::filesystem::path target_;
    AppendFile file_;
};

}  // namespace iterscope
