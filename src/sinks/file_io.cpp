#include "file_io.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <system_error>

namespace iterscope {

namespace {

std::string_view cure_of(int error_number)
{
    switch (error_number) {
        case ENOSPC:
        case EDQUOT:
            return "free some space or choose another working directory";
        case EFBIG:
            return "raise the limit on the size of files (ulimit -f)";
        case EMFILE:
        case ENFILE:
            return "close some files or raise the limit on open ones (ulimit -n)";
        case ENOENT:
            return "keep the folder while the run is going";
        case ENAMETOOLONG:
            return "choose a working directory with a shorter path";
        default:
            return "make the folder writable or choose another working directory";
    }
}

std::filesystem::path temporary_beside(const std::filesystem::path& path)
{
    std::filesystem::path temporary = path;
    temporary += "." + std::to_string(getpid()) + ".tmp";
    return temporary;
}

int open_retrying(const std::filesystem::path& path, int flags)
{
    int descriptor = -1;
    do {
        descriptor = ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

/// Where the size of files is limited, writing past it kills the process unless SIGXFSZ is held
/// back; without a limit this costs one system call.
class HeldSizeSignal {
public:
    HeldSizeSignal()
    {
        rlimit limit{};
        if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
            sigemptyset(&signals_);
            sigaddset(&signals_, SIGXFSZ);
            is_held_ = pthread_sigmask(SIG_BLOCK, &signals_, &before_) == 0;
        }
    }
    ~HeldSizeSignal()
    {
        if (is_held_) {
            if (sigismember(&before_, SIGXFSZ) == 0) {
                const timespec at_once{};
                sigtimedwait(&signals_, nullptr, &at_once);
            }
            pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        }
    }
    HeldSizeSignal(const HeldSizeSignal&) = delete;
    HeldSizeSignal& operator=(const HeldSizeSignal&) = delete;

private:
    sigset_t signals_{};
    sigset_t before_{};
    bool is_held_ = false;
};

/// Writes all of `text`; on failure says how much was written, with errno set.
bool write_all(int descriptor, std::string_view text, std::size_t& written)
{
    const HeldSizeSignal held;
    written = 0;
    while (written < text.size()) {
        const ssize_t count = ::write(descriptor, text.data() + written, text.size() - written);
        if (count > 0) {
            written += static_cast<std::size_t>(count);
        } else if (count == 0 || errno != EINTR) {
            errno = count == 0 ? ENOSPC : errno;
            return false;
        }
    }
    return true;
}

}  // namespace

IoError io_error(std::string_view action, const std::filesystem::path& path, int error_number)
{
    return IoError(std::string(action) + " '" + path.string() + "' failed (" +
                       std::generic_category().message(error_number) + "); " +
                       std::string(cure_of(error_number)),
                   error_number);
}

AppendFile AppendFile::create(const std::filesystem::path& path)
{
    AppendFile file(path);
    file.descriptor_ = open_retrying(path, O_APPEND | O_CREAT | O_EXCL);
    if (file.descriptor_ < 0) {
        throw io_error("creating", path, errno);
    }
    return file;
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
    if (write_all(descriptor_, text, written)) {
        return;
    }
    const int reason = errno;
    struct stat status{};
    if (written > 0 && fstat(descriptor_, &status) == 0 &&
        // Takes the part of a line back that still fitted.
        ftruncate(descriptor_, status.st_size - static_cast<off_t>(written)) != 0) {
        throw io_error("shortening", path_, errno);
    }
    throw io_error("writing", path_, reason);
}

void overwrite(const std::filesystem::path& path, std::string text)
{
    const int descriptor = open_retrying(path, 0);
    if (descriptor < 0) {
        throw io_error("opening", path, errno);
    }
    struct stat status{};
    int reason = fstat(descriptor, &status) == 0 ? 0 : errno;
    if (reason == 0 && static_cast<std::size_t>(status.st_size) < text.size()) {
        reason = ENOSPC;
    }
    if (reason == 0) {
        text.resize(static_cast<std::size_t>(status.st_size), ' ');
        std::size_t written = 0;
        reason = write_all(descriptor, text, written) ? 0 : errno;
    }
    ::close(descriptor);
    if (reason != 0) {
        throw io_error("writing", path, reason);
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

AppendFile Replacement::commit()
{
    if (::rename(file_.path().c_str(), target_.c_str()) != 0) {
        throw io_error("replacing", target_, errno);
    }
    return file_.renamed(target_);
}

}  // namespace iterscope
