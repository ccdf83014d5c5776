"""Types of the extension module."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Literal, ParamSpec, TypeVar, final

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
