"""Types of the extension module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Literal, ParamSpec, TypeVar, final, overload

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")

__version__: str
built_torch_version: str

class Error(Exception):
    """Base of every error that iterscope raises."""

class ConfigError(Error, ValueError):
    """A wrong option, name or argument, found before any work starts."""

class UsageError(Error, RuntimeError):
    """A call that does not fit the state of the profiler. It changes nothing."""

class IoError(Error, OSError):
    """A file or folder that cannot be made or written."""

class DeviceError(Error, RuntimeError):
    """An accelerator that failed while it was synchronised or asked."""

class IterscopeWarning(UserWarning):
    """Something works, but not as it was asked for."""

@final
class Region:
    """A named region: a context manager and a decorator."""

    def __enter__(self) -> None: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]: ...
    def __call__(self, function: Callable[P, R]) -> Callable[P, R]: ...

@final
class Profiler:
    """Records named regions of an iterative solver; made by iterscope.create_profiler."""

    def __new__(cls, options: dict[str, object], recipe: tuple[object, ...], /) -> Profiler: ...
    def __enter__(self) -> Profiler: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]: ...
    def track_step(self, name: str, /) -> Region:
        """The region of that name. Raises ConfigError if a region cannot have it."""

    def region(self, name: str, /) -> Region:
        """The same, with the name checked at once: make it once, enter it often."""

    def start_iterations(self) -> None:
        """Restarts the clock of iteration 0; call it right before the loop."""

    def end_iteration(self, ctx: object = None) -> None:
        """Closes the iteration and records it inside the window.

        `ctx` is any object; at most its `rank` is read. Raises UsageError while a region is open.
        """

    def get_current_metrics(self) -> dict[str, float]:
        """Metrics of the iteration that ended last, in seconds and MiB; {} unless recorded."""

    def operator_table(self, full: bool = False) -> list[dict[str, str | float | int]]:
        """Mode torch: the operators of the iteration that ended last, a dict a row.

        Keys are those of the CSV (section, op, cpu_sec, ...) and self_cpu_sec. By default the rows
        of the CSV; with `full` operators at any depth, each with the innermost region.
        """

    def finalize(self, ctx: object = None) -> None:
        """Ends the run; idempotent."""

    @property
    def mode(self) -> str | None:
        """None, "custom", "torch" or "nvidia"."""

    @property
    def name(self) -> str:
        """The name that was given."""

    @property
    def device(self) -> str:
        """The device that was given."""

    @property
    def run_name(self) -> str:
        """Stem of the run's files; "" without files."""

    @property
    def files(self) -> dict[str, str]:
        """Kind and path of each file of the run."""

    @property
    def is_recording(self) -> bool:
        """Whether this iteration is recorded."""

    @property
    def iteration(self) -> int:
        """0-based index of the running iteration."""

# Physics, denoisers, solvers (src/python/physics.cpp, denoisers.cpp, solvers.cpp).

class LinearPhysics:
    """A linear measurement operator A on images [batch, channels, ...].

    Subclasses give forward() and adjoint(); the rest has defaults that they may override.
    """

    def __init__(self) -> None: ...
    def forward(self, x: Tensor) -> list[Tensor]:
        """A x: the measurements of an image, as a list."""

    def __call__(self, x: Tensor) -> list[Tensor]: ...
    # The next three have DeepInv's names.
    def A(self, x: Tensor) -> list[Tensor]: ...  # noqa: N802
    def adjoint(self, y: list[Tensor]) -> Tensor:
        """A^T y: the exact transpose of forward()."""

    def A_adjoint(self, y: Tensor | Sequence[Tensor]) -> Tensor: ...  # noqa: N802
    def normal(self, x: Tensor) -> Tensor:
        """A^T A x."""

    def measurement_count(self) -> int:
        """How many tensors forward() returns and adjoint() takes."""

    def norm(self, like: Tensor | None = None) -> float:
        """Largest singular value of A; `like` is an image of the right shape, dtype, device."""

    def norm_squared(self, like: Tensor | None = None) -> float:
        """Largest eigenvalue of A^T A, to 1 % or better."""

    def pseudo_inverse(
        self,
        y: Tensor | Sequence[Tensor],
        *,
        start: Tensor | None = None,
        max_iterations: int = 50,
        tolerance: float = 1e-5,
    ) -> Tensor:
        """Least-squares solution of A x = y by conjugate gradients, each image for itself."""

    def A_dagger(  # noqa: N802
        self,
        y: Tensor | Sequence[Tensor],
        *,
        start: Tensor | None = None,
        max_iterations: int = 50,
        tolerance: float = 1e-5,
    ) -> Tensor: ...

class MultiFrameSuperResolution(LinearPhysics):
    """Frames of one image: blurred by a kernel each, sampled at every `factor`-th pixel."""

    def __init__(
        self,
        image_size: int | Sequence[int],
        kernels: Tensor | None = None,
        factor: int = 2,
        *,
        num_operators: int | None = None,
        kernel_size: int = 5,
        sigma: float | tuple[float, float] = 1.0,
    ) -> None: ...
    @property
    def image_size(self) -> tuple[int, int]: ...
    @property
    def factor(self) -> int: ...
    @property
    def kernels(self) -> Tensor: ...

class Denoising(LinearPhysics):
    """The identity, on images and volumes of any size."""

class StackedPhysics(LinearPhysics):
    """Operators that look at the same image: their measurements, one after the other."""

    def __init__(self, operators: Sequence[LinearPhysics]) -> None: ...

def gaussian_kernels(
    count: int, size: int = 5, sigma: float | tuple[float, float] = 1.0
) -> Tensor: ...
@overload
def add_gaussian_noise(y: Tensor, sigma: float, seed: int = 0) -> Tensor: ...
@overload
def add_gaussian_noise(y: Sequence[Tensor], sigma: float, seed: int = 0) -> list[Tensor]: ...

class Denoiser:
    """Removes noise of a given level; subclasses give denoise()."""

    def __init__(self) -> None: ...
    def denoise(self, x: Tensor, sigma: float) -> Tensor:
        """`x` without noise of standard deviation `sigma`."""

    def __call__(self, x: Tensor, sigma: float) -> Tensor: ...
    def reset(self) -> None:
        """Forget what is kept between calls."""

class TVDenoiser(Denoiser):
    """Isotropic total variation, with the parameters and steps of DeepInv's TVDenoiser."""

    def __init__(
        self,
        n_it_max: int = 1000,
        crit: float = 1e-5,
        tau: float = 0.01,
        rho: float = 1.99,
        warm_start: bool = True,
    ) -> None: ...
    @property
    def iterations(self) -> Tensor | None:
        """Inner iterations that each image of the last call took."""

def total_variation(x: Tensor) -> Tensor:
    """Isotropic total variation [B] of images or volumes."""

def make_denoiser(
    name: str,
    *,
    n_it_max: int = 100,
    crit: float = 1e-5,
    tau: float = 0.01,
    rho: float = 1.99,
    warm_start: bool = True,
) -> Denoiser: ...
def solver_device(device: str | torch.device | None = None) -> str:
    """The device asked for, or this process's own GPU, or without CUDA the CPU."""

class PnP:
    """Plug-and-play proximal gradient descent, with regions `gradient` and `denoise`."""

    def __init__(
        self,
        physics: LinearPhysics,
        measurements: Tensor | Sequence[Tensor],
        denoiser: Denoiser | str = "tv",
        profiler: Profiler | None = None,
        *,
        image_size: int | Sequence[int] | None = None,
        patch_size: int | Sequence[int] = 128,
        overlap: int | Sequence[int] = 32,
        max_batch_size: int = 0,
        denoiser_lambda_relaxation: float | None = None,
        step_size: float | None = None,
        step_size_scale: float = 0.99,
        denoiser_sigma: float = 0.05,
        distribute_physics: bool = False,
        distribute_denoiser: bool = False,
        init_method: str = "pseudo_inverse",
        norm_strategy: str = "clip",
        value_range: tuple[float, float] | None = None,
        device: str | torch.device | None = None,
        compile: str | None = None,
        slurm_nodes: object = 1,
        slurm_ntasks_per_node: object = 1,
        slurm_gres: object = "gpu:1",
        torchrun_nproc_per_node: object = 1,
        name_prefix: object = "pnp",
    ) -> None: ...
    def initialize(self) -> None:
        """Set the first image and the step size, and reset the denoiser."""

    def step(self) -> None:
        """Do one iteration."""

    def reconstruction(self) -> Tensor:
        """The present image [batch, channels, ...]; later steps leave it alone."""

    @property
    def step_size(self) -> float: ...
    @property
    def iteration(self) -> int: ...
    @property
    def nonfinite_iteration(self) -> int | None:
        """The first step that gave NaN or infinity, -1 for the start; None if none did."""
