"""The factory of profilers: reads what users write, hands it to C++."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, SupportsIndex

from iterscope._iterscope import ConfigError, Profiler

if TYPE_CHECKING:
    import torch

_LARGEST = 2**63 - 1


def _count(option: str, value: object) -> int:
    reason = f"{option} is {value!r} (it counts iterations or cycles); give an integer from 0 on"
    if isinstance(value, bool):
        raise ConfigError(reason)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ConfigError(reason) from None
    if not 0 <= number <= _LARGEST:
        raise ConfigError(reason)
    return number


def _flag(option: str, value: object) -> bool:
    if not isinstance(value, bool | int) or value not in (0, 1):
        raise ConfigError(f"{option} is {value!r} (it is a switch); give True or False")
    return bool(value)


def _text(option: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{option} is {value!r} (it is a text); give a str")
    return value


def _folder(option: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str | bytes | os.PathLike):
        raise ConfigError(f"{option} is {value!r} (it is a folder); give a path")
    return os.fsdecode(value)


def _parameters(value: object) -> dict[str, object]:
    """What run.json can hold: None, bool, int, float and text; anything else as text."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"parameters is {value!r} (it maps names to values); give a dict")
    return {_writable(str(key)): _scalar(item) for key, item in value.items()}


def _scalar(value: object) -> object:
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()  # a NumPy or PyTorch scalar
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if -_LARGEST <= value <= _LARGEST else str(value)
    return _writable(str(value))


def _writable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _mode(value: object) -> str:
    if value is None:
        return "None"
    if not isinstance(value, str):
        raise ConfigError(
            f"unknown profiler mode {value!r} (it is not a text); use None, 'custom', 'torch' or "
            "'nvidia'"
        )
    return value


def create_profiler(
    mode: str | None,
    device: str | torch.device,
    name: str = "",
    warmup: SupportsIndex = 0,
    active: SupportsIndex = 0,
    trace_dir: str | os.PathLike[str] | None = None,
    per_step: bool = True,
    repeat: SupportsIndex = 1,
    save_file: bool = False,
    parameters: Mapping[str, object] | None = None,
    collector: str = "auto",
) -> Profiler:
    """Make a profiler; use it as a context manager around the solver's loop.

    Args:
        mode: None (records nothing, costs next to nothing), "custom" (wall clock and peak device
            memory per region), "torch" or "nvidia".
        device: device of the solver, as PyTorch names it.
        name: names the run's files; any text.
        warmup: iterations before the first recorded one.
        active: number of recorded iterations; 0 records all that remain.
        trace_dir: torch mode: folder of the Chrome trace; needs ``per_step=False``.
        per_step: torch mode: one set of rows an iteration; False aggregates over cycles.
        repeat: torch mode without ``per_step``: number of cycles; 0 repeats for ever.
        save_file: write ``outputs/<run name>_run.json`` and ``..._gpu_metrics.csv``.
        parameters: what produced the run (solver, dataset); only written to run.json. Values that
            JSON has no scalar for are written as text.

        collector: torch mode: "auto", or "observer" (counts in place, cheapest) or "kineto" (reads
            events; device work and traces need it).

    Raises
    ------
        ConfigError: an unknown mode or device, a count that is negative or no integer, a
            combination that cannot work.
    """
    kept = _parameters(parameters)
    chosen = (mode, device, name, warmup, active, trace_dir, per_step, repeat, save_file)
    options = {
        "mode": _mode(mode),
        "device": str(device),
        # Lone surrogates stay different from each other in the names of files.
        "name": _text("name", name).encode("utf-8", "surrogatepass"),
        "warmup": _count("warmup", warmup),
        "active": _count("active", active),
        "repeat": _count("repeat", repeat),
        "per_step": _flag("per_step", per_step),
        "save_file": _flag("save_file", save_file),
        "trace_dir": _folder("trace_dir", trace_dir),
        "parameters": kept,
        "collector": _text("collector", collector),
    }
    return Profiler(options, (create_profiler, (*chosen, kept, collector)))
