"""What a run spent where: sums over its recorded iterations."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from statistics import fmean, median
from typing import TYPE_CHECKING

from iterscope.report.run import PEAK, TOTAL, Run

if TYPE_CHECKING:
    from collections.abc import Sequence

# Regions and iteration are differences of clock readings; their sums agree to rounding only.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class RegionSummary:
    """Times of one region, in seconds, over the recorded iterations that entered it.

    ``share`` is its part of all recorded iteration time (``None`` where that is not known) and
    ``peak_mb`` its highest peak of device memory in MiB (``None`` where there is no value).
    """

    name: str
    count: int
    total_sec: float
    mean_sec: float
    median_sec: float
    share: float | None
    peak_mb: float | None = None


@dataclass(frozen=True)
class Summary:
    """A run's times.

    ``iteration`` is the whole of the recorded iterations (``None`` without any), ``untracked`` what
    no region covers: the objective's callback, an optimizer, the loop itself (``None`` where it
    cannot be told). ``profiler_sec`` is what the profiler spent at the ends of iterations, outside
    every time given here, over the whole run; ``region_cost_sec`` what reading clocks costs inside
    the regions, estimated. Both are ``None`` while the run goes on.
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
    regions = [_summary(name, run.times(name), all_time, run.peaks(name)) for name in run.regions]
    return Summary(
        iteration=_summary("iteration", totals, all_time, run.numbers(PEAK)),
        regions=tuple(region for region in regions if region is not None),
        untracked=_untracked(run, totals, all_time, notes),
        profiler_sec=_number(run, "profiler_time_sec"),
        region_cost_sec=_region_cost(run),
        notes=tuple(notes),
    )


def untracked_times(run: Run) -> list[float | None]:
    """Seconds of each row's iteration that no region covers; ``None`` without a total.

    Nested regions are inclusive, so what they cover is subtracted twice: the rest is then too
    small, or negative.
    """
    covered = [0.0] * len(run.rows)
    for name in run.regions:
        for index, time in enumerate(run.times(name)):
            covered[index] += time or 0.0
    totals = run.numbers(TOTAL)
    return [
        None if total is None else total - part for total, part in zip(totals, covered, strict=True)
    ]


def _untracked(
    run: Run, totals: Sequence[float | None], all_time: float | None, notes: list[str]
) -> RegionSummary | None:
    if not run.regions:
        return None
    rest = untracked_times(run)
    for total, time in zip(totals, rest, strict=True):
        if total is not None and time is not None and time < -_ROUNDING * max(total, 1.0):
            notes.append(
                "the regions of an iteration add up to more than the iteration (nested ones are "
                "inclusive), so the untracked rest is not known"
            )
            return None
    return _summary(
        "(untracked rest)", [max(t, 0.0) if t is not None else t for t in rest], all_time
    )


def _summary(
    name: str,
    times: Sequence[float | None],
    all_time: float | None,
    peaks: Sequence[float | None] = (),
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
    )


def _region_cost(run: Run) -> float | None:
    count, cost = _number(run, "region_count"), _number(run, "region_cost_sec")
    return None if count is None or cost is None else count * cost


def _number(run: Run, key: str) -> float | None:
    value = run.info.get(key)
    return float(value) if isinstance(value, int | float) else None
