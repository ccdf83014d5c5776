#include "run_name.hpp"

#include "hash.hpp"

namespace iterscope {

namespace {

// With the longest launch, attempt, rank and file suffix the whole stays below 255 bytes.
constexpr std::size_t k_longest_name = 128;

constexpr std::string_view k_unsafe = "/\\:*?\"<>|%";

/// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none.
std::size_t utf8_length(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || length > text.size()) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) {
            return 0;
        }
    }
    if (length > 2) {
        const unsigned second = byte(1);
        const bool malformed = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                               (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
        return malformed ? 0 : length;
    }
    return length;
}

}  // namespace

std::string safe_file_name(std::string_view name)
{
    if (name.empty()) {
        return "run";
    }
    std::string safe;
    std::size_t cut = 0;  // longest prefix that still leaves room for the mark of a long name
    for (std::string_view rest = name; !rest.empty();) {
        const std::size_t length = utf8_length(rest);
        const char first = rest.front();
        const auto code = static_cast<unsigned char>(first);
        const bool is_control = code < 0x20 || code == 0x7F;
        const bool is_leading = safe.empty() && (first == '.' || first == '-' || first == ' ');
        if (length == 0 || is_control || is_leading ||
            k_unsafe.find(first) != std::string_view::npos) {
            safe += '%';
            safe += hex_digits(code, 2);
            rest.remove_prefix(1);
        } else {
            safe += rest.substr(0, length);
            rest.remove_prefix(length);
        }
        if (safe.size() <= k_longest_name - 18) {
            cut = safe.size();
        }
    }
    if (safe.size() <= k_longest_name) {
        return safe;
    }
    // "%~" cannot come from the loop above, so a cut name equals no whole one.
    return safe.substr(0, cut) + "%~" + hex_digits(hash64(name), 16);
}

std::string run_stem(std::string_view safe_name, const Launch& launch, int attempt)
{
    std::string stem(safe_name);
    const bool has_ranks = launch.size > 1;
    if (!launch.label.empty() && (has_ranks || launch.is_slurm_step)) {
        stem += "_" + launch.label;
    }
    if (attempt > 1) {
        stem += "-" + std::to_string(attempt);
    }
    if (has_ranks) {
        stem += "_rank" + std::to_string(launch.rank);
    }
    return stem;
}

}  // namespace iterscope
