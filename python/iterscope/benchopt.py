"""What iterscope's BenchOpt benchmarks share: profilers from parameters, loop rules, result rows.

The benchmarks' own files stay thin; see ``docs/benchopt.md`` for how they are used.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from numbers import Integral, Real
from os import fspath
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from benchopt.stopping_criterion import NoCriterion

from iterscope import ConfigError, Profiler, create_profiler
from iterscope.image_metrics import ImageQuality, mean_quality

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import UnionType

    import torch

# They neither change the run nor tell it apart from another one.
_NOT_IN_RUN_NAMES = ("name_prefix", "profiler_save_file", "profiler_trace_dir")
# Names of types in the words of YAML.
_NAMES: Mapping[type, str] = {
    str: "a text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    list: "a list of them",
    type(None): "null",
}


@dataclass(frozen=True)
class Description:
    """What a dataset or solver is: its name, its parameters, and which differ from the defaults."""

    name: str
    values: Mapping[str, Any]
    changed: Mapping[str, Any]


class Described:
    """Mix-in for BenchOpt classes: a short name and a description made from their parameters.

    BenchOpt spells out every parameter in a run's name, which fills the terminal with thirty
    defaults; here only those that differ from the class's defaults are named. Runs of a grid keep
    different names, as they differ in at least one parameter.
    """

    name: ClassVar[str]
    parameters: ClassVar[Mapping[str, Sequence[Any]]]
    # What a parameter takes where its default does not tell: None, or a choice of types.
    parameter_types: ClassVar[Mapping[str, type | UnionType]] = {}

    def check_parameters(self) -> None:
        """Raise ``ConfigError`` for a parameter that is not of its default's type.

        An integer will do for a float; a list holds values of the other types that are listed.
        """
        for key, choices in self.parameters.items():
            value, kind = getattr(self, key), self.parameter_types.get(key, type(choices[0]))
            kinds = get_args(kind) or (kind,)
            if not _fits(value, kinds):
                listed = " or ".join(_NAMES.get(each, each.__name__) for each in kinds)
                raise ConfigError(
                    f"{key} is {value!r} (the parameter takes {listed}); correct it in the "
                    f"configuration of {self.name}"
                )

    def description(self) -> Description:
        """Describe this object; its parameters are the attributes that BenchOpt has set."""
        defaults = {key: choices[0] for key, choices in self.parameters.items()}
        values = {key: getattr(self, key) for key in defaults}
        changed = {key: value for key, value in values.items() if value != defaults[key]}
        return Description(self.name, values, changed)

    def __repr__(self) -> str:
        changed = self.description().changed
        listed = ",".join(f"{_brief(key)}={changed[key]}" for key in sorted(changed))
        return f"{self.name}[{listed}]" if listed else self.name


class ProfiledSolver(Described):
    """Mix-in for solvers that call BenchOpt's callback and close a profiled iteration each time.

    BenchOpt evaluates the objective after every iteration (its own spacing grows by 1.5 and would
    drop rows) and stops at ``--max-runs`` iterations or at its timeout, never by itself.
    """

    parameter_types: ClassVar[Mapping[str, type | UnionType]] = {
        "profiler_mode": str | None,
        "profiler_trace_dir": str | None,
    }
    sampling_strategy = "callback"
    stopping_criterion = NoCriterion(strategy="callback")

    def get_next(self, stop_val: int) -> int:
        """Return the iteration to evaluate after ``stop_val``: the next one."""
        return stop_val + 1

    def make_profiler(self, device: str | torch.device, dataset: Description) -> Profiler:
        """Make the profiler that the ``profiler_*`` parameters ask for.

        The solver's parameters must have ``name_prefix`` and ``profiler_`` mode, warmup, active,
        save_file, per_step, repeat and trace_dir, which are the options of ``create_profiler``.
        Its files are named after the run (see ``run_name``), and run.json records the parameters of
        the solver and the dataset as ``solver.<key>`` and ``dataset.<key>``. Raises ``ConfigError``
        for values that cannot be.
        """
        solver = self.description()
        options = solver.values
        return create_profiler(
            options["profiler_mode"],
            device,
            name=run_name(options["name_prefix"], solver, dataset),
            warmup=options["profiler_warmup"],
            active=options["profiler_active"],
            trace_dir=options["profiler_trace_dir"],
            per_step=options["profiler_per_step"],
            repeat=options["profiler_repeat"],
            save_file=options["profiler_save_file"],
            parameters={**_flat("solver", solver), **_flat("dataset", dataset)},
        )


def run_name(prefix: str, solver: Description, dataset: Description) -> str:
    """Name a run so that the runs of a grid differ: ``pnp_simulated_noise_level=0.1_mode=nvidia``.

    The name holds the prefix, the dataset's name and every parameter that differs from its default
    (without the ``profiler_`` that some begin with). Repetitions share it; iterscope numbers their
    files.
    """
    changes = [
        f"{_brief(key)}={_short(value)}"
        for key, value in (*dataset.changed.items(), *solver.changed.items())
        if key not in _NOT_IN_RUN_NAMES
    ]
    return "_".join([prefix, dataset.name, *changes])


def named_run(profiler: Profiler) -> str:
    """Return the stem of the run's files, or the name it was given where there are no files."""
    return profiler.run_name or profiler.name


def evaluation_row(
    qualities: Sequence[ImageQuality], metrics: Mapping[str, float], name: str
) -> dict[str, float | str]:
    """Build what an objective returns for one evaluation.

    ``value`` is the mean squared error (BenchOpt's curves go down), ``psnr``, ``ssim`` and ``mse``
    are means over the batch, and a batch of several images has ``psnr_0``, ``ssim_0``, ``mse_0``
    and so on as well. The profiler's metrics follow under their own names; there are none before
    the first iteration and outside the recording window.
    """
    mean = mean_quality(list(qualities))
    row: dict[str, float | str] = {"value": mean.mse, "run_name": name, **_metrics_of(mean, "")}
    if len(qualities) > 1:
        for index, quality in enumerate(qualities):
            row.update(_metrics_of(quality, f"_{index}"))
    row.update({key: float(value) for key, value in metrics.items()})
    return row


def _fits(value: object, kinds: Sequence[type]) -> bool:
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, list | tuple):
        return list in kinds and all(
            _fits(item, [k for k in kinds if k is not list]) for item in value
        )
    wider = {int: Integral, float: Real}
    return any(isinstance(value, wider.get(kind, kind)) for kind in kinds)


def _metrics_of(quality: ImageQuality, suffix: str) -> dict[str, float]:
    return {f"{key}{suffix}": value for key, value in asdict(quality).items()}


def _flat(kind: str, described: Description) -> dict[str, Any]:
    named = {"name": described.name, **described.values}
    return {f"{kind}.{key}": value for key, value in named.items()}


def _brief(key: str) -> str:
    return key.removeprefix("profiler_")


def _short(value: Any) -> str:
    """Write a value for a file name: of a path only its last part, of a pair ``64x96``."""
    if isinstance(value, list | tuple):
        return "x".join(_short(item) for item in value)
    if isinstance(value, str | PurePath):
        return PurePath(fspath(value)).name
    return str(value)
