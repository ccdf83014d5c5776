#include "trace_json.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <istream>
#include <limits>
#include <map>
#include <utility>

namespace iterscope {

namespace {

constexpr std::string_view k_name = "    \"name\": \"";
constexpr std::string_view k_pid = "    \"pid\": ";
constexpr std::string_view k_tid = "    \"tid\": ";
constexpr std::string_view k_duration = "    \"dur\": -";
constexpr std::string_view k_id = "\"External id\": ";
constexpr std::string_view k_trace_name = "],\"traceName\": \"";
/// More tracks than this beside one thread share the last one.
constexpr int k_most_tracks = 1000;

/// Length of the UTF-8 sequence at the start of `text`; 0 if there is none.
std::size_t utf8_length(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
        return i < text.size() && byte(i) >= low && byte(i) <= high;
    };
    const unsigned first = byte(0);
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first <= 0xDF) {
        return follows(1) ? 2 : 0;
    }
    if (first >= 0xE0 && first <= 0xEF) {
        const bool is_valid =
            follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && follows(2);
        return is_valid ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const bool is_valid =
            follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && follows(2) &&
            follows(3);
        return is_valid ? 4 : 0;
    }
    return 0;
}

void append_code(std::string& out, unsigned code)
{
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "\\u%04x", code);
    out += text.data();
}

bool is_json_string(std::string_view text)
{
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t length = utf8_length(text.substr(i));
        if (length == 0 || static_cast<unsigned char>(text[i]) < 0x20 || text[i] == '"') {
            return false;
        }
        if (text[i] == '\\') {
            const std::size_t digits = i + 1 < text.size() && text[i + 1] == 'u' ? 4 : 0;
            const bool is_escape =
                i + 1 + digits < text.size() &&
                (std::string_view("\"\\/bfnrtu").find(text[i + 1]) != std::string_view::npos);
            const bool has_digits =
                std::ranges::all_of(text.substr(std::min(i + 2, text.size()), digits),
                                    [](unsigned char c) { return std::isxdigit(c) != 0; });
            if (!is_escape || !has_digits) {
                return false;
            }
            i += 2 + digits;
        } else {
            i += length;
        }
    }
    return true;
}

/// Reads a number at the start of `text`; how many characters it took.
template <class Number>
std::size_t read_number(std::string_view text, Number& number)
{
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the end is given
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() ? static_cast<std::size_t>(end - text.data()) : 0;
}

/// Kineto draws what has not ended up to the end of the trace.
std::int64_t end_of(const HostEvent& event)
{
    return event.end_ns < event.start_ns ? std::numeric_limits<std::int64_t>::max() : event.end_ns;
}

}  // namespace

std::string json_escape(std::string_view text)
{
    std::string out;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const auto byte = static_cast<unsigned char>(text.front());
        if (length == 0) {
            append_code(out, 0xDC00U + byte);
        } else if (byte == '"' || byte == '\\') {
            out += {'\\', text.front()};
        } else if (byte < 0x20 || byte == 0x7F) {
            append_code(out, byte);
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

ExtraTracks extra_tracks(const DeviceTimeline& timeline)
{
    std::vector<const HostEvent*> events;
    for (const HostEvent& event : timeline.host) {
        if (event.kind != HostEvent::Kind::allocation) {
            events.push_back(&event);
        }
    }
    std::ranges::stable_sort(events, [](const HostEvent* a, const HostEvent* b) {
        return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : end_of(*a) > end_of(*b);
    });
    ExtraTracks moved;
    // Ends of what is open, by thread and track.
    std::map<std::pair<std::int64_t, int>, std::vector<std::int64_t>> open;
    for (const HostEvent* event : events) {
        for (int track = 0;; ++track) {
            std::vector<std::int64_t>& ends = open[{event->thread, track}];
            while (!ends.empty() && ends.back() <= event->start_ns) {
                ends.pop_back();
            }
            if (ends.empty() || ends.back() >= end_of(*event) || track == k_most_tracks) {
                ends.push_back(end_of(*event));
                if (track > 0) {
                    moved.emplace(static_cast<std::int32_t>(event->correlation), track);
                }
                break;
            }
        }
    }
    return moved;
}

std::string TraceEditor::header() const
{
    return "    \"distributedInfo\": {\"rank\": " + std::to_string(edits_.rank) +
           ", \"world_size\": " + std::to_string(edits_.size) + "},\n";
}

std::string TraceEditor::name_of(std::string_view name) const
{
    if (name.starts_with(edits_.label_prefix) && name.size() > edits_.label_prefix.size() + 1) {
        const char kind = name[edits_.label_prefix.size()];
        const std::string_view number = name.substr(edits_.label_prefix.size() + 1);
        std::size_t region = 0;
        const bool is_number = read_number(number, region) == number.size();
        if (is_number && kind == 'i') {
            return "iter_" + std::string(number);
        }
        if (is_number && kind == 'r' && region < edits_.region_names.size()) {
            return json_escape(edits_.region_names[region]);
        }
    }
    return is_json_string(name) ? std::string(name) : json_escape(name);
}

void TraceEditor::edit_event(std::vector<std::string>& lines)
{
    std::string* thread = nullptr;
    std::string process;
    int track = 0;
    for (std::string& line : lines) {
        if (line.starts_with(k_name)) {
            const std::size_t quote = line.rfind('"');
            const std::string name =
                name_of(std::string_view(line).substr(k_name.size(), quote - k_name.size()));
            line.replace(k_name.size(), quote - k_name.size(), name);
        } else if (line.starts_with(k_duration)) {
            line = "    \"dur\": 0";
        } else if (line.starts_with(k_pid)) {
            process = line;
        } else if (line.starts_with(k_tid)) {
            thread = &line;
        } else if (const std::size_t at = line.find(k_id); at != std::string::npos) {
            std::int32_t id = 0;
            read_number(std::string_view(line).substr(at + k_id.size()), id);
            const auto moved = edits_.tracks.find(id);
            track = moved == edits_.tracks.end() ? 0 : moved->second;
        }
    }
    std::int64_t number = 0;
    const bool is_host_thread =
        thread != nullptr &&
        read_number(std::string_view(*thread).substr(k_tid.size()), number) > 0;
    if (track == 0 || !is_host_thread) {
        return;
    }
    // Readers want numbers of 32 bits; those of threads have at most 22.
    const std::string made = std::to_string(number + (std::int64_t{track} << 22));
    *thread = std::string(k_tid) + made + ",";
    const std::string key = process + made;
    if (std::ranges::find(named_tracks_, key) == named_tracks_.end()) {
        named_tracks_.push_back(key);
        added_ += "  {\n    \"ph\": \"M\",\n    \"name\": \"thread_name\",\n    \"ts\": 0,\n" +
                  process + "\n" + *thread + "\n    \"args\": {\n      \"name\": \"thread " +
                  std::to_string(number) + ", overlapping " + std::to_string(track) +
                  "\"\n    }\n  },\n";
    }
}

bool TraceEditor::next(std::istream& in, std::string& piece)
{
    std::string line;
    while (std::getline(in, line)) {
        if (event_.empty() && line == "  {") {
            event_.push_back(std::move(line));
            continue;
        }
        if (!event_.empty()) {
            const bool is_end = line == "  }," || line == "  }";
            event_.push_back(std::move(line));
            if (!is_end) {
                continue;
            }
            edit_event(event_);
            piece = std::exchange(added_, {});
            for (const std::string& part : event_) {
                piece += part + "\n";
            }
            event_.clear();
            return true;
        }
        piece = line + "\n";
        if (line.find("\"schemaVersion\"") != std::string::npos) {
            piece += header();
        } else if (const std::size_t at = line.find(k_trace_name); at != std::string::npos) {
            piece = line.substr(0, at + k_trace_name.size()) + json_escape(edits_.trace_name) +
                    "\" }\n";
        }
        return true;
    }
    return false;
}

std::string empty_trace(const TraceEdits& edits)
{
    return "{\n    \"schemaVersion\": 1,\n    \"distributedInfo\": {\"rank\": " +
           std::to_string(edits.rank) + ", \"world_size\": " + std::to_string(edits.size) +
           "},\n    \"traceEvents\": [],\n    \"traceName\": \"" + json_escape(edits.trace_name) +
           "\"\n}\n";
}

}  // namespace iterscope
