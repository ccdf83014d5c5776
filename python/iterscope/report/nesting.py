"""Which regions lie inside others, and so what of an iteration no region covers.

Times of regions are inclusive: an inner region's time is in the outer one's too, so only regions
that lie in no other may be added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iterscope.report.run import TOTAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from iterscope.report.run import Run

REST = "(untracked rest)"
# Regions and iteration are differences of clock readings; their sums agree to rounding only.
_ROUNDING = 1e-9
_LOWER_BOUND = (
    "the untracked rest is a lower bound: run.json does not say which regions are nested (it does "
    "at the end of a run), and the time of nested ones is subtracted twice"
)
_UPPER_BOUND = (
    "the untracked rest is an upper bound: some regions ran both inside and outside of others, and "
    "their time outside is not known apart"
)
_UNKNOWN = (
    "the regions of an iteration add up to more than the iteration (nested ones are inclusive), so "
    "the untracked rest is not known"
)


@dataclass(frozen=True)
class Rest:
    """What of each recorded iteration no region covers, in seconds.

    ``times`` has a value a row, ``None`` where the row has no total; it is ``None`` as a whole
    where the rest is not known. ``subtracted`` are the regions whose times were taken off the
    iteration. ``name`` says whether the times are a bound, and ``note``, if any, why.
    """

    name: str
    times: tuple[float | None, ...] | None
    subtracted: tuple[str, ...]
    note: str | None = None


def parents_of(run: Run, region: str) -> tuple[str, ...]:
    """Regions that one was directly entered in, ``""`` for none; empty where that is not known."""
    table = run.info.get("region_parents")
    found = table.get(region) if isinstance(table, dict) else None
    return tuple(map(str, found)) if isinstance(found, list) else ()


def untracked_rest(run: Run) -> Rest:
    """Subtract from each iteration the regions that lie in no other.

    A region that was entered both inside another and by itself has one time for both, and is not
    subtracted: the rest is then an upper bound. A run that was killed does not say which regions
    are nested: all are subtracted, and the rest is a lower bound.
    """
    parents = {region: parents_of(run, region) for region in run.regions}
    unknown = any(not found for found in parents.values()) and len(parents) > 1
    mixed = any("" in found and len(found) > 1 for found in parents.values())
    name, note = REST, None
    covering = [region for region, found in parents.items() if not found or found == ("",)]
    if unknown:
        covering = [region for region, found in parents.items() if not found or "" in found]
        name, note = f"{REST[:-1]}, at least)", _LOWER_BOUND
    elif mixed:
        name, note = f"{REST[:-1]}, at most)", _UPPER_BOUND
    times = _subtract(run, covering)
    totals = run.numbers(TOTAL)
    for total, time in zip(totals, times, strict=True):
        if total is not None and time is not None and time < -_ROUNDING * max(total, 1.0):
            return Rest(REST, None, tuple(covering), _UNKNOWN)
    known = tuple(None if time is None else max(time, 0.0) for time in times)
    return Rest(name, known, tuple(covering), note)


def _subtract(run: Run, regions: Iterable[str]) -> list[float | None]:
    covered = [0.0] * len(run.rows)
    for region in regions:
        for index, time in enumerate(run.times(region)):
            covered[index] += time or 0.0
    totals = run.numbers(TOTAL)
    return [
        None if total is None else total - part for total, part in zip(totals, covered, strict=True)
    ]
