#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace iterscope {

/// FNV-1a, 64 bits: equal on every machine and in every version, unlike std::hash.
constexpr std::uint64_t hash64(std::string_view text) noexcept
{
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    return hash;
}

/// The lowest `digits` hexadecimal digits of `value`.
inline std::string hex_digits(std::uint64_t value, int digits)
{
    std::string text(static_cast<std::size_t>(digits), '0');
    for (auto place = text.rbegin(); place != text.rend(); ++place, value >>= 4U) {
        *place = "0123456789abcdef"[value & 0xFU];
    }
    return text;
}

}  // namespace iterscope
