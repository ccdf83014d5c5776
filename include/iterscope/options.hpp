#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <iterscope/recording_window.hpp>

namespace iterscope {

/// How regions are recorded. `null` records nothing and costs next to nothing.
enum class Mode { null, custom, torch, nvidia };

/// Reads "None" (also "null", "none"), "custom", "torch" or "nvidia". Throws ConfigError.
Mode parse_mode(std::string_view text);

/// "None", "custom", "torch", "nvidia".
std::string_view to_string(Mode mode) noexcept;

/// How mode torch reads operators. `automatic`: the observer on a CPU without a trace (cheapest),
/// Kineto where there is device work or a trace to be had.
enum class Collector { automatic, observer, kineto };

/// Reads "auto", "observer" or "kineto". Throws ConfigError.
Collector parse_collector(std::string_view text);

/// One parameter of the solver or the dataset, kept in run.json. `monostate` is JSON's null.
using ParameterValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
using Parameters = std::vector<std::pair<std::string, ParameterValue>>;

/// What a profiler is made from.
struct Options {
    Mode mode = Mode::custom;
    std::string device = "cpu";
    /// Names the run's files; any text.
    std::string name;
    /// Iterations before the first recorded one.
    std::int64_t warmup = 0;
    /// Number of recorded iterations; 0 records all that remain.
    std::int64_t active = 0;
    /// `torch` mode: folder of the Chrome trace (needs `per_step = false`).
    std::optional<std::string> trace_dir;
    /// `torch` mode: one set of rows an iteration; false aggregates over cycles.
    bool per_step = true;
    /// `torch` mode without `per_step`: number of cycles; 0 repeats for ever.
    std::int64_t repeat = 1;
    /// `torch` mode: see Collector.
    Collector collector = Collector::automatic;
    /// Writes `outputs/<run name>_run.json` and the mode's CSV.
    bool save_file = false;
    /// What produced the run; only written down.
    Parameters parameters;
};

/// The iterations that the options choose.
RecordingWindow window_of(const Options& options) noexcept;

/// Throws ConfigError on options that cannot work; returns one line for each option that has no
/// effect in this mode.
std::vector<std::string> validate(const Options& options);

}  // namespace iterscope
