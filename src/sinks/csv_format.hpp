#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace iterscope {

/// Appends the shortest text that reads back as `value`, in any locale.
inline void append_number(std::string& out, double value)
{
    char text[32];
    out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

inline void append_number(std::string& out, std::int64_t value)
{
    char text[24];
    out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

/// Appends `text` as a field of RFC 4180: quoted where it has to be.
inline void append_field(std::string& out, std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        out += text;
        return;
    }
    out += '"';
    for (const char c : text) {
        out.append(c == '"' ? 2 : 1, c);
    }
    out += '"';
}

/// The same behind a comma.
inline void append_cell(std::string& out, std::string_view text)
{
    out += ',';
    append_field(out, text);
}

template <class Number>
    requires std::is_arithmetic_v<Number>
void append_cell(std::string& out, Number value)
{
    out += ',';
    append_number(out, value);
}

}  // namespace iterscope
