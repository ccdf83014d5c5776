#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace iterscope::test {

/// What Perfetto's importer would stumble over in a Chrome trace; empty if nothing.
inline std::vector<std::string> trace_problems(const std::string& text)
{
    using Json = nlohmann::json;
    const Json trace = Json::parse(text, nullptr, false);
    if (trace.is_discarded() || !trace.is_object() || !trace.contains("traceEvents") ||
        !trace["traceEvents"].is_array()) {
        return {"no JSON object with a list traceEvents"};
    }
    std::vector<std::string> problems;
    struct Slice {
        std::int64_t start;
        std::int64_t end;
        std::string name;
    };
    const auto nanoseconds = [](const Json& micro) {
        return static_cast<std::int64_t>(std::llround(micro.get<double>() * 1000));
    };
    std::map<std::pair<std::string, std::string>, std::vector<Slice>> tracks;
    for (const Json& event : trace["traceEvents"]) {
        const auto complain = [&](const std::string& what) {
            problems.push_back(what + ": " + event.dump());
        };
        if (!event.is_object() || !event.contains("ph") || !event["ph"].is_string()) {
            complain("no ph");
            continue;
        }
        if (!event.contains("name") || !event["name"].is_string()) {
            complain("no name");
        }
        if (!event.contains("ts") || !event["ts"].is_number()) {
            complain("ts is no number");
            continue;
        }
        if (!event.contains("pid") || !event.contains("tid")) {
            complain("no pid or tid");
            continue;
        }
        if (event["ph"] != "X") {
            continue;
        }
        if (!event.contains("dur") || !event["dur"].is_number() || event["dur"] < 0) {
            complain("dur is no number >= 0");
            continue;
        }
        const std::int64_t start = nanoseconds(event["ts"]);
        tracks[{event["pid"].dump(), event["tid"].dump()}].push_back(
            {start, start + nanoseconds(event["dur"]), event["name"]});
    }
    for (auto& [track, slices] : tracks) {
        std::ranges::stable_sort(slices, [](const Slice& a, const Slice& b) {
            return a.start != b.start ? a.start < b.start : a.end > b.end;
        });
        std::vector<const Slice*> open;
        for (const Slice& slice : slices) {
            while (!open.empty() && open.back()->end <= slice.start) {
                open.pop_back();
            }
            // A reader of doubles keeps times of this size to about 1 ns.
            if (!open.empty() && slice.end > open.back()->end + 2) {
                problems.push_back("'" + slice.name + "' overlaps '" + open.back()->name + "'");
            }
            open.push_back(&slice);
        }
    }
    return problems;
}

/// Names of the complete events, in the order of the file.
inline std::vector<std::string> slice_names(const std::string& text)
{
    std::vector<std::string> names;
    const auto trace = nlohmann::json::parse(text);
    for (const auto& event : trace["traceEvents"]) {
        if (event["ph"] == "X") {
            names.push_back(event["name"]);
        }
    }
    return names;
}

}  // namespace iterscope::test
