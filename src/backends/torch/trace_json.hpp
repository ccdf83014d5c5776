#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../timeline/device_timeline.hpp"

namespace iterscope {

/// `text` between the quotes of a JSON string. A reader gets it back exactly; bytes that are no
/// UTF-8 come back as Python's `surrogateescape` has them (\udc80 to \udcff).
std::string json_escape(std::string_view text);

/// Tracks for events that overlap others of their thread without being contained: collectives and
/// labels that end when something else has begun. By `HostEvent::correlation`, of which a trace
/// keeps the lower half; tracks count from 1.
using ExtraTracks = std::unordered_map<std::int32_t, int>;
ExtraTracks extra_tracks(const DeviceTimeline& timeline);

/// What is put into a trace that Kineto has written.
struct TraceEdits {
    /// Labels are called `<label_prefix>r<region>` and `<label_prefix>i<iteration>`.
    std::string label_prefix;
    /// By RegionId.
    std::vector<std::string> region_names;
    ExtraTracks tracks;
    int rank = 0;
    int size = 1;
    /// Name of the trace inside the file.
    std::string trace_name;
};

/// Copies Kineto's JSON from `in`, piece by piece, to `write`. Regions and iterations get their
/// names; any other name that is no valid JSON string is mended; durations are at least 0; an event
/// that overlaps its neighbours moves to a track of its own beside its thread.
class TraceEditor {
public:
    explicit TraceEditor(const TraceEdits& edits) : edits_(edits) {}

    template <class Write>
    void copy(std::istream& in, Write write)
    {
        for (std::string piece; next(in, piece);) {
            write(std::string_view(piece));
        }
    }

private:
    bool next(std::istream& in, std::string& piece);
    void edit_event(std::vector<std::string>& lines);
    std::string name_of(std::string_view name) const;
    std::string header() const;

    const TraceEdits& edits_;
    std::vector<std::string> event_;
    /// Threads whose extra tracks have been named.
    std::vector<std::string> named_tracks_;
    std::string added_;
};

/// A valid trace without any event.
std::string empty_trace(const TraceEdits& edits);

}  // namespace iterscope
