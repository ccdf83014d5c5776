#include <iterscope/launch.hpp>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "hash.hpp"
#include "run_name.hpp"

namespace iterscope {

namespace {

std::string text_of(const Environment& environment, const char* name)
{
    const char* value = environment(name);
    return value == nullptr ? std::string() : std::string(value);
}

std::optional<int> number_of(const Environment& environment, const char* name)
{
    const std::string text = text_of(environment, name);
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) {
        return std::nullopt;
    }
    return value;
}

bool is_set(const Environment& environment, const char* name)
{
    return !text_of(environment, name).empty();
}

/// An id that names something: launchers write "none" where they have none.
std::string identity(const Environment& environment, const char* name)
{
    const std::string id = text_of(environment, name);
    return id == "none" || id == "None" ? std::string() : id;
}

struct Place {
    const char* launcher;
    const char* rank;
    const char* size;
    const char* local_rank;
};

constexpr Place k_torchrun = {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr Place k_slurm = {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"};
constexpr Place k_old_slurm = {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"};

bool read_place(const Environment& environment, const Place& place, Launch& launch)
{
    if (!is_set(environment, place.rank) || !is_set(environment, place.size)) {
        return false;
    }
    const std::optional<int> rank = number_of(environment, place.rank);
    const std::optional<int> size = number_of(environment, place.size);
    if (!rank || !size || *rank >= *size) {
        launch.warnings.push_back(
            std::string("the rank of ") + place.launcher + " is ignored (" + place.rank + "=" +
            text_of(environment, place.rank) + " and " + place.size + "=" +
            text_of(environment, place.size) +
            " are not a rank and a size); unset them or start the program with the launcher");
        return false;
    }
    launch.rank = *rank;
    launch.size = *size;
    launch.local_rank = number_of(environment, place.local_rank).value_or(0);
    return true;
}

std::string restart_suffix(int restarts)
{
    return restarts > 0 ? "_restart" + std::to_string(restarts) : std::string();
}

}  // namespace

Launch discover_launch(const Environment& environment, std::optional<ProcessGroup> group)
{
    Launch launch;
    const bool in_step = is_set(environment, "SLURM_STEP_ID");
    const bool has_place = read_place(environment, k_torchrun, launch) ||
                           (in_step && (read_place(environment, k_slurm, launch) ||
                                        read_place(environment, k_old_slurm, launch)));
    if (group) {
        launch.local_rank = has_place ? launch.local_rank : group->rank;
        launch.rank = group->rank;
        launch.size = group->size;
    }

    const std::string job = identity(environment, "SLURM_JOB_ID");
    const std::string step = identity(environment, "SLURM_STEP_ID");
    const std::string torchrun = identity(environment, "TORCHELASTIC_RUN_ID");
    const int job_restarts = number_of(environment, "SLURM_RESTART_COUNT").value_or(0);
    const int run_restarts = number_of(environment, "TORCHELASTIC_RESTART_COUNT").value_or(0);
    launch.is_slurm_step = !job.empty() && !step.empty();
    if (launch.is_slurm_step) {
        launch.label =
            safe_file_name("job" + job + "." + step) + restart_suffix(job_restarts + run_restarts);
        launch.id = "job" + job + "." + step + restart_suffix(job_restarts);
        if (!torchrun.empty()) {
            launch.id += "/" + torchrun + restart_suffix(run_restarts);
        }
    } else if (!torchrun.empty()) {
        launch.label = "run" + hex_digits(hash64(torchrun), 8) + restart_suffix(run_restarts);
        launch.id = "run/" + torchrun + restart_suffix(run_restarts);
    }

    for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_ARRAY_JOB_ID",
                             "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "SLURM_PROCID",
                             "SLURM_LOCALID", "SLURM_NODEID", "SLURM_JOB_NODELIST"}) {
        if (is_set(environment, name)) {
            launch.slurm.emplace_back(name, text_of(environment, name));
        }
    }
    return launch;
}

Environment process_environment()
{
    return [](const char* name) { return std::getenv(name); };
}

}  // namespace iterscope
