#include "run_info.hpp"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <ctime>

#include <nlohmann/json.hpp>

#include "../core/units.hpp"
#include "file_io.hpp"
#include "run_files.hpp"

namespace iterscope {

namespace {

using Json = nlohmann::ordered_json;

constexpr int k_format = 1;

constexpr std::size_t k_room_for_the_end = 1024;

std::string utc_time(std::int64_t unix_ns)
{
    const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[40];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    const std::string micro = std::to_string(1'000'000 + unix_ns / 1000 % 1'000'000).substr(1);
    return std::string(text) + "." + micro + "Z";
}

Json to_json(const ParameterValue& value)
{
    return std::visit(
        [](const auto& held) -> Json {
            using Held = std::decay_t<decltype(held)>;
            if constexpr (std::is_same_v<Held, std::monostate>) {
                return nullptr;
            } else if constexpr (std::is_same_v<Held, double>) {
                // JSON has no number for these.
                return std::isfinite(held) ? Json(held) : Json(std::to_string(held));
            } else {
                return held;
            }
        },
        value);
}

Json to_json(const std::vector<std::pair<std::string, std::string>>& pairs)
{
    Json object = Json::object();
    for (const auto& [key, value] : pairs) {
        object[key] = value;
    }
    return object;
}

Json to_json(const Options& options)
{
    return {{"warmup", options.warmup},
            {"active", options.active},
            {"per_step", options.per_step},
            {"repeat", options.repeat},
            {"trace_dir", options.trace_dir ? Json(*options.trace_dir) : Json(nullptr)},
            {"save_file", options.save_file}};
}

Json describe(const RunContext& context)
{
    Json parameters = Json::object();
    for (const auto& [key, value] : context.options.parameters) {
        parameters[key] = to_json(value);
    }
    auto versions = context.versions;
    versions.emplace(versions.begin(), "iterscope", ITERSCOPE_VERSION);
    return {{"format", k_format},
            {"name", context.options.name},
            {"run_name", context.stem},
            {"state", "running"},
            {"error", nullptr},
            {"mode", to_string(context.options.mode)},
            {"options", to_json(context.options)},
            {"device", context.device},
            {"host", context.host},
            {"pid", getpid()},
            {"rank", context.launch.rank},
            {"local_rank", context.launch.local_rank},
            {"size", context.launch.size},
            {"launch_id", context.launch.id.empty() ? Json(nullptr) : Json(context.launch.id)},
            {"versions", to_json(versions)},
            {"slurm", to_json(context.launch.slurm)},
            {"parameters", parameters},
            {"files", {{"gpu_metrics", context.stem + k_metrics_suffix}}},
            {"start_time", utc_time(context.start_unix_ns)},
            {"start_unix_ns", context.start_unix_ns}};
}

void add_end(Json& json, const RunSummary& summary, Mode mode)
{
    json["state"] = summary.failed ? "failed" : "finished";
    json["error"] = summary.failed ? Json(summary.error) : Json(nullptr);
    json["end_time"] = utc_time(unix_now_ns());
    json["iterations"] = summary.iterations;
    json["rows"] = summary.recorded_iterations - summary.rows_lost;
    json["rows_lost"] = summary.rows_lost;
    json["profiler_time_sec"] = summary.profiler_time_sec;
    json["region_count"] = summary.region_count;
    json["region_cost_sec"] = summary.region_cost_sec;
    json["own_cost_sec"] = summary.profiler_time_sec +
                           static_cast<double>(summary.region_count) * summary.region_cost_sec;
    if (mode == Mode::torch) {
        json["late_events"] = summary.late_events;
        json["partial_iterations"] = summary.partial_iterations;
    }
    json["context_ranks"] = summary.other_ranks;
    json["region_parents"] = Json::object();
    for (const auto& [region, parents] : summary.region_parents) {
        json["region_parents"][region] = parents;
    }
}

std::string text_of(const Json& json)
{
    // Names are any bytes: what is not UTF-8 becomes U+FFFD.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void replace(const std::filesystem::path& path, const std::string& text)
{
    Replacement file(path);
    file.append(text);
    file.commit();
}

}  // namespace

void RunInfo::begin(RunContext& context)
{
    RunFiles files = reserve_run_files(context.options.name, context.launch);
    context.folder = std::move(files.folder);
    context.stem = std::move(files.stem);
    path_ = context.folder / (context.stem + k_run_info_suffix);
    context_ = context;
    try {
        // Room for the end of the run, should the disk be full by then.
        replace(path_, text_of(describe(context_)) + std::string(k_room_for_the_end, ' ') + "\n");
    } catch (...) {
        cancel();
        throw;
    }
}

void RunInfo::cancel() noexcept { ::unlink(path_.c_str()); }

void RunInfo::finish(const RunSummary& summary)
{
    Json json = describe(context_);
    add_end(json, summary, context_.options.mode);
    try {
        replace(path_, text_of(json));
    } catch (const IoError&) {
        overwrite(path_, text_of(json));
    }
}

std::pair<std::string, std::filesystem::path> RunInfo::file() const
{
    return {path_.empty() ? "" : "run", path_};
}

}  // namespace iterscope
