from benchopt import BaseSolver

from iterscope import ConfigError
from iterscope.benchopt import ProfiledSolver, named_run
from iterscope.solvers import PnP, solver_device

# Parameters that PnP takes under the same name.
PNP_PARAMETERS = (
    "image_size",
    "patch_size",
    "overlap",
    "max_batch_size",
    "denoiser_lambda_relaxation",
    "step_size",
    "step_size_scale",
    "denoiser_sigma",
    "distribute_physics",
    "distribute_denoiser",
    "init_method",
    "norm_strategy",
    "compile",
)
# They decide how many ranks there are; PnP runs on one.
RANK_PARAMETERS = ("slurm_nodes", "slurm_ntasks_per_node", "torchrun_nproc_per_node")


class Solver(ProfiledSolver, BaseSolver):
    """Plug-and-play proximal gradient descent; the algorithm is iterscope.solvers.PnP."""

    name = "PnP"
    requirements = ["pip::torch"]

    # docs/benchopt.md explains each one. BenchOpt itself reads those that begin with slurm_. The
    # dictionary is spelled out because BenchOpt reads it from the source where an import fails.
    parameters = {
        "denoiser": ["tv"],
        "image_size": [None],
        "patch_size": [128],
        "overlap": [32],
        "max_batch_size": [0],
        "denoiser_lambda_relaxation": [None],
        "step_size": [None],
        "step_size_scale": [0.99],
        "denoiser_sigma": [0.05],
        "distribute_physics": [False],
        "distribute_denoiser": [False],
        "init_method": ["pseudo_inverse"],
        "norm_strategy": ["clip"],
        "device": [None],
        "compile": [None],
        "slurm_nodes": [1],
        "slurm_ntasks_per_node": [1],
        "slurm_gres": ["gpu:1"],
        "torchrun_nproc_per_node": [1],
        "name_prefix": ["pnp"],
        "profiler_mode": ["custom"],
        "profiler_warmup": [0],
        "profiler_active": [0],
        "profiler_save_file": [False],
        "profiler_per_step": [True],
        "profiler_repeat": [1],
        "profiler_trace_dir": [None],
    }

    parameter_types = ProfiledSolver.parameter_types | {
        "image_size": int | list | None,
        "patch_size": int | list,
        "overlap": int | list,
        "denoiser_lambda_relaxation": float | None,
        "step_size": float | None,
        "device": str | None,
        "compile": str | None,
        "slurm_gres": str | int | None,
    }

    def set_objective(self, physics, measurements, dataset, keep_start):
        self.physics = physics
        self.measurements = measurements
        self.dataset = dataset
        self.keep_start = keep_start

    def run(self, cb):
        self.check_parameters()
        for key in RANK_PARAMETERS:
            if getattr(self, key) != 1:
                raise ConfigError(
                    f"{key} is {getattr(self, key)} (PnP runs on one rank in this version, and "
                    "several would do the same work each); set it to 1"
                )
        device = solver_device(self.device)
        options = {key: getattr(self, key) for key in PNP_PARAMETERS}
        self.profiler = self.make_profiler(device, self.dataset)
        self.solver = PnP(
            self.physics, self.measurements, self.denoiser, self.profiler, device=device, **options
        )
        with self.profiler:
            self.solver.initialize()
            self.start = self.solver.reconstruction().cpu() if self.keep_start else None
            self.profiler.start_iterations()
            while cb():
                self.solver.step()
                self.profiler.end_iteration()

    def get_result(self):
        return {
            "reconstruction": self.solver.reconstruction(),
            "metrics": self.profiler.get_current_metrics(),
            "run_name": named_run(self.profiler),
            "start": self.start,
        }
