#pragma once

#include <stdexcept>
#include <string>

namespace iterscope {

/// Base of every error that iterscope raises. Texts read `problem (why); what to do`.
class Error : public std::runtime_error {
public:
    explicit Error(const std::string& message) : std::runtime_error(message) {}
};

/// A wrong option, name or argument, found before any work starts. Python: also a `ValueError`.
class ConfigError : public Error {
public:
    using Error::Error;
};

/// A call that does not fit the state: an open region, a stray exit, another thread. It changes
/// nothing: the iteration goes on as if the call had not been made. (A region that was left out of
/// order has no number in its iteration unless it is left again in order.) Python: also a
/// `RuntimeError`.
class UsageError : public Error {
public:
    using Error::Error;
};

/// A file or folder that cannot be made or written. Python: also an `OSError`.
class IoError : public Error {
public:
    explicit IoError(const std::string& message, int error_number = 0)
        : Error(message), error_number_(error_number)
    {
    }

    /// `errno` of the call that failed, 0 if there was none. Python: `errno`.
    int error_number() const noexcept { return error_number_; }

private:
    int error_number_;
};

/// An accelerator that failed while it was synchronised or asked. Python: also a `RuntimeError`.
class DeviceError : public Error {
public:
    using Error::Error;
};

}  // namespace iterscope
