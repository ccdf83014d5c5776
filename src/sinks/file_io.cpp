#include "file_io.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace iterscope {

namespace {

constexpr std::string_view k_disk_cure = "free some space or choose another working directory";

std::filesystem::path temporary_beside(const std::filesystem::path& path)
{
    std::filesystem::path temporary = path;
    temporary += "." + std::to_string(getpid()) + ".tmp";
    return temporary;
}

}  // namespace

IoError io_error(std::string_view action, const std::filesystem::path& path, int error_number,
                 std::string_view cure)
{
    return IoError(std::string(action) + " '" + path.string() + "' failed (" +
                   std::generic_category().message(error_number) + "); " + std::string(cure));
}

AppendFile AppendFile::create(const std::filesystem::path& path)
{
    return {path, O_CREAT | O_EXCL, "creating"};
}

AppendFile AppendFile::open(const std::filesystem::path& path) { return {path, 0, "opening"}; }

AppendFile::AppendFile(std::filesystem::path path, int flags, std::string_view action)
    : path_(std::move(path))
{
    do {
        descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
    } while (descriptor_ < 0 && errno == EINTR);
    if (descriptor_ < 0) {
        throw io_error(action, path_, errno, "make the folder writable or choose another one");
    }
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1))
{
}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept
{
    if (this != &other) {
        close();
        path_ = std::move(other.path_);
        descriptor_ = std::exchange(other.descriptor_, -1);
    }
    return *this;
}

AppendFile::~AppendFile() { close(); }

void AppendFile::close() noexcept
{
    if (descriptor_ >= 0) {
        ::close(std::exchange(descriptor_, -1));
    }
}

void AppendFile::append(std::string_view text)
{
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t count = ::write(descriptor_, text.data() + written, text.size() - written);
        if (count > 0) {
            written += static_cast<std::size_t>(count);
        } else if (count == 0 || errno != EINTR) {
            const int reason = count == 0 ? ENOSPC : errno;
            struct stat status {};
            if (written > 0 && fstat(descriptor_, &status) == 0) {
                // Takes the part of a line back that still fitted.
                if (ftruncate(descriptor_, status.st_size - static_cast<off_t>(written)) != 0) {
                    throw io_error("shortening", path_, errno, k_disk_cure);
                }
            }
            throw io_error("writing", path_, reason, k_disk_cure);
        }
    }
}

Replacement::Replacement(const std::filesystem::path& path) : target_(path)
{
    const std::filesystem::path temporary = temporary_beside(path);
    ::unlink(temporary.c_str());
    file_ = AppendFile::create(temporary);
}

Replacement::~Replacement()
{
    if (file_.is_open()) {
        ::unlink(file_.path().c_str());
    }
}

void Replacement::commit()
{
    if (::rename(file_.path().c_str(), target_.c_str()) != 0) {
        throw io_error("replacing", target_, errno, k_disk_cure);
    }
    file_.close();
}

}  // namespace iterscope
