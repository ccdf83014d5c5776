#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace iterscope {

/// Reads an environment variable; nullptr when it is not set.
using Environment = std::function<const char*(const char* name)>;

/// Rank and size of an initialised process group.
struct ProcessGroup {
    int rank = 0;
    int size = 1;
};

/// Where this process stands among the processes that were launched with it.
struct Launch {
    int rank = 0;
    int local_rank = 0;
    int size = 1;
    /// Equal on all ranks of a launch, different between launches and restarts; empty if unknown.
    std::string id;
    /// The part of file names that tells launches apart: "job12.0_restart1", "run1a2b3c4d", "".
    std::string label;
    bool is_slurm_step = false;
    /// The SLURM_* ids that were set, for run.json.
    std::vector<std::pair<std::string, std::string>> slurm;
    /// What was found and could not be used, a line each.
    std::vector<std::string> warnings;
};

/// The one place that reads what a launcher decided. The rank is that of an initialised process
/// group, else torchrun's (RANK, WORLD_SIZE), else Slurm's inside a step started by srun
/// (SLURM_STEP_ID), else 0 of 1.
Launch discover_launch(const Environment& environment, std::optional<ProcessGroup> group = {});

/// The environment of this process.
Environment process_environment();

}  // namespace iterscope
