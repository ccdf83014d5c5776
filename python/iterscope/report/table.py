"""A run as plain text: aligned, at most 100 columns wide."""

from __future__ import annotations

import textwrap
import unicodedata
from typing import TYPE_CHECKING

from iterscope.report.operators import has_operators, summarize_operators
from iterscope.report.summary import RegionSummary, Summary, summarize
from iterscope.report.units import format_mebibytes, format_seconds, format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iterscope.report.run import Run

WIDTH = 100
_GAP = "  "
_HEADER = ("region", "count", "total", "mean", "median", "share")


def format_run(run: Run) -> str:
    """Describe a run and list its regions; ends without a line break.

    The columns are: the recorded iterations that entered the region, its total, mean and median
    over them, and its share of all recorded iteration time; peak memory where any was measured.
    A region that ran inside one other only is indented below it.
    """
    if has_operators(run):
        return _format_operators(run)
    summary = summarize(run)
    parts = [_head(run), _table(summary), _inclusive(summary), _own_time(run, summary)]
    parts += [
        textwrap.fill(f"note: {_printable(note)}", WIDTH, subsequent_indent=" " * 6)
        for note in summary.notes
    ]
    return "\n".join(part for part in parts if part)


def _head(run: Run) -> str:
    state = run.state
    if state == "running":
        state = "running, or killed before it could say how it ended"
    error = run.info.get("error")
    if error:
        state += f" ({error})"
    lines = [("run", run.stem), ("state", state)]
    mode, device = run.info.get("mode"), run.info.get("device")
    if mode is not None or device is not None:
        lines.append(("mode", f"{mode} on {device}{_rank(run)}"))
    lines.append(("recorded", _recorded(run)))
    return "\n".join(_cut(f"{key:<9} {_printable(str(text))}", WIDTH) for key, text in lines)


def _rank(run: Run) -> str:
    size = run.info.get("size", 1)
    return f", rank {run.info.get('rank')} of {size}" if isinstance(size, int) and size > 1 else ""


def _recorded(run: Run) -> str:
    rows = len(run.rows)
    if has_operators(run):
        rows = run.info.get("rows", len({row.get("iter") for row in run.rows}))
    count = f"{rows} iteration{'' if rows == 1 else 's'}"
    if "iterations" in run.info:
        count = f"{rows} of {run.info['iterations']} iterations"
    options = run.info.get("options")
    if not isinstance(options, dict) or not (options.get("warmup") or options.get("active")):
        return count
    length = f"{options['active']} long" if options.get("active") else "to the end"
    return f"{count} (window: from iteration {options.get('warmup', 0)}, {length})"


def _format_operators(run: Run) -> str:
    """List the operators that each region called, longest first, and how much of it they are."""
    rows = summarize_operators(run)
    if not rows:
        return _head(run) + "\nno operator has been recorded"
    on_device = any(row.cuda_sec for row in rows)
    header = ["count", "host", *(["device"] if on_device else []), "memory"]
    cells = [
        [
            str(row.count),
            format_seconds(row.cpu_sec),
            *([format_seconds(row.cuda_sec)] if on_device else []),
            f"{row.memory_mb:.3g} MiB",
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    room = WIDTH - sum(widths) - len(_GAP) * len(widths)
    names = [_cut(_printable(f"  {row.op}"), room) for row in rows]
    titles = [_cut(_printable(row.section), room) for row in rows]
    first = max(map(_width, (*names, *titles, "operator")))
    lines = [_line("operator", header, first, widths)]
    lines.append("-" * _width(lines[0]))
    for place, (row, name, numbers) in enumerate(zip(rows, names, cells, strict=True)):
        if place == 0 or rows[place - 1].section != row.section:
            lines.append(titles[place])
        lines.append(_line(name, numbers, first, widths))
    notes = [f"note: {_printable(note)}" for note in run.notes]
    return "\n".join([_head(run), "", *lines, *notes])


def _table(summary: Summary) -> str:
    labelled = _tree(summary.regions)
    labelled += [(row.name, row) for row in (summary.untracked, summary.iteration) if row]
    rows = [row for _, row in labelled]
    if not rows:
        return "no iteration has been recorded"
    with_memory = any(row.peak_mb for row in rows)
    header = (*_HEADER, "peak") if with_memory else _HEADER
    cells = [_cells(row, with_memory) for row in rows]
    widths = [max(map(len, column)) for column in zip(header[1:], *cells, strict=True)]
    room = WIDTH - sum(widths) - len(_GAP) * len(widths)
    names = [_cut(_printable(label), room) for label, _ in labelled]
    first = max(map(_width, (*names, header[0])))
    lines = [_line(header[0], header[1:], first, widths)]
    lines += [_line(name, row, first, widths) for name, row in zip(names, cells, strict=True)]
    rule = "-" * _width(lines[0])
    lines.insert(1, rule)
    if summary.iteration is not None:
        lines.insert(-1, rule)
    return "\n".join(["", *lines, ""])


def _tree(regions: Sequence[RegionSummary]) -> list[tuple[str, RegionSummary]]:
    """Put a region below the only other one that it ran in, indented; else say what it ran in."""
    names = {region.name for region in regions}
    below: dict[str, list[RegionSummary]] = {"": []}
    for region in regions:
        only = region.parents[0] if len(region.parents) == 1 else ""
        below.setdefault(only if only in names else "", []).append(region)
    found: list[tuple[str, RegionSummary]] = []
    waiting = [(0, region) for region in reversed(below[""])]
    while waiting:
        depth, region = waiting.pop()
        found.append(("  " * depth + region.name + _mark(region), region))
        waiting += [(depth + 1, inner) for inner in reversed(below.get(region.name, ()))]
    shown = {region.name for _, region in found}  # parents in a circle leave some out
    return found + [(region.name, region) for region in regions if region.name not in shown]


def _mark(region: RegionSummary) -> str:
    outer = [parent for parent in region.parents if parent]
    if len(region.parents) < 2:
        return ""
    return f" ({'also ' if '' in region.parents else ''}in {', '.join(outer)})"


def _inclusive(summary: Summary) -> str:
    if not any(parent for region in summary.regions for parent in region.parents):
        return ""
    return "regions inside others (indented, or marked) are part of the others' times and shares"


def _cells(row: RegionSummary, with_memory: bool) -> tuple[str, ...]:
    cells = (
        str(row.count),
        format_seconds(row.total_sec),
        format_seconds(row.mean_sec),
        format_seconds(row.median_sec),
        format_share(row.share),
    )
    return (*cells, format_mebibytes(row.peak_mb)) if with_memory else cells


def _line(name: str, cells: Sequence[str], first: int, widths: Sequence[int]) -> str:
    numbers = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
    return _GAP.join([name + " " * (first - _width(name)), *numbers])


def _own_time(run: Run, summary: Summary) -> str:
    if summary.profiler_sec is None:
        return ""
    each = ""
    if run.rows:  # it works at the ends of recorded iterations only
        each = f", {format_seconds(summary.profiler_sec / len(run.rows))} a recorded iteration"
    lines = [
        f"profiler's own time: {format_seconds(summary.profiler_sec)}{each}, in none of the above"
    ]
    if summary.region_cost_sec is not None:
        cost = format_seconds(summary.region_cost_sec)
        lines.append(f"reading clocks at regions: about {cost} in all, within the above")
    return "\n".join(lines)


def _printable(text: str) -> str:
    """Show control characters (a line break in a name, say) as escapes."""
    return "".join(
        repr(letter)[1:-1] if unicodedata.category(letter)[0] in "CZ" and letter != " " else letter
        for letter in text
    )


def _width(text: str) -> int:
    """Columns that a terminal needs: wide East Asian letters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def _cut(text: str, room: int) -> str:
    """Shorten a text in its middle, so that names with one beginning stay different."""
    if _width(text) <= room:
        return text
    head, tail = text[: room // 2], text[len(text) - room // 2 :]
    while _width(head) + _width(tail) + 3 > room:
        head, tail = (head[:-1], tail) if len(head) >= len(tail) else (head, tail[1:])
    return f"{head}...{tail}"
