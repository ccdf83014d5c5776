#include <iterscope/options.hpp>

#include <iterscope/error.hpp>

namespace iterscope {

namespace {

void require_count(const char* option, std::int64_t value)
{
    if (value < 0) {
        throw ConfigError(std::string(option) + " is " + std::to_string(value) +
                          " (it counts iterations or cycles); give 0 or more");
    }
}

}  // namespace

Mode parse_mode(std::string_view text)
{
    if (text == "None" || text == "null" || text == "none") {
        return Mode::null;
    }
    for (const Mode mode : {Mode::custom, Mode::torch, Mode::nvidia}) {
        if (text == to_string(mode)) {
            return mode;
        }
    }
    throw ConfigError("unknown profiler mode '" + std::string(text) +
                      "' (there is no such recorder); use None, custom, torch or nvidia");
}

Collector parse_collector(std::string_view text)
{
    if (text == "auto") {
        return Collector::automatic;
    }
    if (text == "observer") {
        return Collector::observer;
    }
    if (text == "kineto") {
        return Collector::kineto;
    }
    throw ConfigError("unknown collector '" + std::string(text) +
                      "' (there is no such way to read operators); use auto, observer or kineto");
}

std::string_view to_string(Mode mode) noexcept
{
    switch (mode) {
        case Mode::custom:
            return "custom";
        case Mode::torch:
            return "torch";
        case Mode::nvidia:
            return "nvidia";
        case Mode::null:
            break;
    }
    return "None";
}

RecordingWindow window_of(const Options& options) noexcept
{
    const bool has_cycles = options.mode == Mode::torch && !options.per_step;
    return {options.warmup, options.active, has_cycles ? options.repeat : 1};
}

std::vector<std::string> validate(const Options& options)
{
    require_count("warmup", options.warmup);
    require_count("active", options.active);
    require_count("repeat", options.repeat);

    std::vector<std::string> warnings;
    if (options.mode == Mode::torch) {
        if (options.trace_dir && options.per_step) {
            throw ConfigError(
                "trace_dir is given with per_step (a trace spans iterations, per_step cuts them "
                "apart); set per_step to False or drop trace_dir");
        }
        if (options.trace_dir && options.collector == Collector::observer) {
            throw ConfigError(
                "trace_dir is given with the observer (it stores no events, a trace is made of "
                "them); use the collector kineto or auto, or drop trace_dir");
        }
        if (options.trace_dir && options.active == 0) {
            warnings.push_back(
                "the trace has no end (active is 0, so it holds every event until the run ends and "
                "memory grows with it); set active");
        }
        if (options.repeat != 1 && (options.per_step || options.active == 0)) {
            warnings.push_back(options.per_step
                                   ? "repeat has no effect with per_step (there are no cycles to "
                                     "repeat); set per_step to False or drop repeat"
                                   : "repeat has no effect with active 0 (the first cycle never "
                                     "ends); set active or drop repeat");
        }
        return warnings;
    }
    const auto has_no_effect = [&](const char* option) {
        warnings.push_back(std::string(option) + " has no effect in mode " +
                           std::string(to_string(options.mode)) +
                           " (it belongs to mode torch); drop it or choose torch");
    };
    if (options.trace_dir) {
        has_no_effect("trace_dir");
    }
    if (!options.per_step) {
        has_no_effect("per_step");
    }
    if (options.repeat != 1) {
        has_no_effect("repeat");
    }
    if (options.collector != Collector::automatic) {
        has_no_effect("collector");
    }
    return warnings;
}

}  // namespace iterscope
