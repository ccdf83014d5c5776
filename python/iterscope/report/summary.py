"""What a run spent where: sums over its recorded iterations."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from statistics import fmean, median
from typing import TYPE_CHECKING

from iterscope.report.nesting import parents_of, untracked_rest
from iterscope.report.run import PEAK, TOTAL, Run

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class RegionSummary:
    """Times of one region, in seconds, over the recorded iterations that entered it.

    Times are inclusive: those of a region inside another are in the other's too. ``share`` is its
    part of all recorded iteration time (``None`` where that is not known) and ``peak_mb`` its
    highest peak of device memory in MiB (``None`` where there is no value). ``parents`` are the
    regions that it was directly entered in, ``""`` for none; empty where that is not known.
    """

    name: str
    count: int
    total_sec: float
    mean_sec: float
    median_sec: float
    share: float | None
    peak_mb: float | None = None
    parents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """A run's times.

    ``iteration`` is the whole of the recorded iterations (``None`` without any), ``untracked`` what
    no region covers: the objective's callback, an optimizer, the loop itself (``None`` where it
    cannot be told; a bound where its name and a note say so). ``profiler_sec`` is what the profiler
    spent at the ends of iterations, outside every time given here; ``region_cost_sec`` what reading
    clocks costs inside the regions, estimated. Both are ``None`` while the run goes on.
    """

    iteration: RegionSummary | None
    regions: tuple[RegionSummary, ...]
    untracked: RegionSummary | None
    profiler_sec: float | None
    region_cost_sec: float | None
    notes: tuple[str, ...] = ()


def summarize(run: Run) -> Summary:
    """Sum up a run, region by region; regions keep the order of the file's columns."""
    notes = list(run.notes)
    totals = run.numbers(TOTAL)
    known = [total for total in totals if total is not None]
    all_time = fsum(known) if known else None
    if run.rows and all_time is None:
        notes.append(f"there is no column {TOTAL}, so shares and the untracked rest are not known")
    regions = [
        _summary(name, run.times(name), all_time, run.peaks(name), parents_of(run, name))
        for name in run.regions
    ]
    return Summary(
        iteration=_summary("iteration", totals, all_time, run.numbers(PEAK)),
        regions=tuple(region for region in regions if region is not None),
        untracked=_untracked(run, all_time, notes),
        profiler_sec=_number(run, "profiler_time_sec"),
        region_cost_sec=_region_cost(run),
        notes=tuple(notes),
    )


def _untracked(run: Run, all_time: float | None, notes: list[str]) -> RegionSummary | None:
    if not run.regions or all_time is None:
        return None
    rest = untracked_rest(run)
    if rest.note is not None:
        notes.append(rest.note)
    return None if rest.times is None else _summary(rest.name, rest.times, all_time)


def _summary(
    name: str,
    times: Sequence[float | None],
    all_time: float | None,
    peaks: Sequence[float | None] = (),
    parents: tuple[str, ...] = (),
) -> RegionSummary | None:
    known = [time for time in times if time is not None]
    if not known:
        return None
    total = fsum(known)
    memory = [peak for peak in peaks if peak is not None]
    return RegionSummary(
        name=name,
        count=len(known),
        total_sec=total,
        mean_sec=fmean(known),
        median_sec=median(known),
        share=total / all_time if all_time else None,
        peak_mb=max(memory) if memory else None,
        parents=parents,
    )


def _region_cost(run: Run) -> float | None:
    count, cost = _number(run, "region_count"), _number(run, "region_cost_sec")
    return None if count is None or cost is None else count * cost


def _number(run: Run, key: str) -> float | None:
    value = run.info.get(key)
    return float(value) if isinstance(value, int | float) else None
