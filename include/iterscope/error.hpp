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
/// nothing: the iteration goes on as if the call had not been made. Python: also a `RuntimeError`.
class UsageError : public Error {
public:
    using Error::Error;
};

/// A file or folder that cannot be made or written. Python: also an `OSError`.
class IoError : public Error {
public:
    using Error::Error;
};

/// An accelerator that failed while it was synchronised or asked. Python: also a `RuntimeError`.
class DeviceError : public Error {
public:
    using Error::Error;
};

}  // namespace iterscope
