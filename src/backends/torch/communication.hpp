#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace iterscope {

/// What a backend of torch.distributed calls a collective, from the title of the asynchronous
/// event that it emits for it ("gloo:all_reduce" -> "all_reduce"); empty for any other event. Only
/// asynchronous events may be asked about: a label of the user's is never one.
std::optional<std::string> collective_name(std::string_view title);

/// Name of the process group whose collective this thread is issuing; empty if it does not say.
std::string communication_group();

}  // namespace iterscope
