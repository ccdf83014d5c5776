"""Loading one run's files: ``<stem>_run.json`` and ``<stem>_gpu_metrics.csv``."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iterscope import IoError

if TYPE_CHECKING:
    from collections.abc import Mapping

INFO_SUFFIX = "_run.json"
METRICS_SUFFIX = "_gpu_metrics.csv"
ITERATION = "iter"
TOTAL = "total_time_sec"
PEAK = "max_gpu_mb"
_TIME_ENDING = "_time_sec"
_PEAK_ENDING = "_max_gpu_mb"

Cell = float | int | str | None


@dataclass(frozen=True)
class Run:
    """One run as it is on disk now; a run that still goes on has fewer rows and no end.

    ``info`` is run.json (empty where there is none) and ``rows`` the CSV's rows by column: numbers,
    texts where a cell is no number, ``None`` for an empty cell. ``notes`` say what was odd.
    """

    stem: str
    folder: Path
    info: Mapping[str, Any]
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Cell], ...]
    notes: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """``running``, ``finished``, ``failed``, or ``unknown`` without a run.json."""
        return str(self.info.get("state", "unknown"))

    @property
    def info_path(self) -> Path:
        """Where the run's run.json is, or would be."""
        return self.folder / (self.stem + INFO_SUFFIX)

    @property
    def metrics_path(self) -> Path:
        """Where the run's CSV is, or would be."""
        return self.folder / (self.stem + METRICS_SUFFIX)

    @property
    def regions(self) -> tuple[str, ...]:
        """Names of the timed regions, in the order of their columns."""
        return tuple(
            column.removesuffix(_TIME_ENDING)
            for column in self.columns
            if column.endswith(_TIME_ENDING) and column != TOTAL
        )

    def times(self, region: str) -> list[float | None]:
        """Seconds of a region in each row; ``None`` where the region was not entered."""
        return self.numbers(region + _TIME_ENDING)

    def peaks(self, region: str) -> list[float | None]:
        """Peak memory of a region in each row, in MiB; ``None`` where there is no value."""
        return self.numbers(region + _PEAK_ENDING)

    def numbers(self, column: str) -> list[float | None]:
        """Numbers of a column, row by row; ``None`` for empty cells and for a missing column."""
        cells = (row.get(column) for row in self.rows)
        return [float(cell) if isinstance(cell, float | int) else None for cell in cells]


def load_run(path: str | os.PathLike[str]) -> Run:
    """Load a run, given its run.json, its CSV, their common stem, or a folder that holds one run.

    Files of a run that still goes on, or was killed, load like others. Raises ``IoError`` when
    there is no run, when a folder holds several, and for files that iterscope did not write.
    """
    given = Path(path)
    if given.is_dir():
        stems = find_runs(given)
        if len(stems) != 1:
            listed = ", ".join(stem.name for stem in stems) or "none"
            raise IoError(
                f"folder '{given}' holds {len(stems)} runs ({listed}); "
                + ("name one of them" if stems else "name the folder of a run with save_file")
            )
        given = stems[0]
    folder, stem = given.parent, given.name
    for suffix in (INFO_SUFFIX, METRICS_SUFFIX):
        if stem.endswith(suffix):
            stem = stem.removesuffix(suffix)
            break
    info_path, metrics_path = folder / (stem + INFO_SUFFIX), folder / (stem + METRICS_SUFFIX)
    if not info_path.is_file() and not metrics_path.is_file():
        raise IoError(
            f"no run at '{given}' (there is neither {info_path} nor {metrics_path}); give a run's "
            "_run.json or _gpu_metrics.csv, or the folder that holds them"
        )
    notes: list[str] = []
    info = _read_info(info_path, notes)
    columns, rows = _read_metrics(metrics_path, notes)
    return Run(stem, folder, info, columns, rows, tuple(notes))


def find_runs(folder: str | os.PathLike[str]) -> list[Path]:
    """Return a folder's runs as ``folder/stem``, oldest first; raises ``IoError`` without it."""
    place = Path(folder)
    try:
        names = sorted(os.listdir(place))
    except OSError as error:
        raise IoError(
            f"folder '{place}' cannot be read ({error.strerror}); name another"
        ) from error
    ages: dict[str, float] = {}
    for suffix in (INFO_SUFFIX, METRICS_SUFFIX):  # run.json knows the start better
        for name in names:
            if name.endswith(suffix) and name != suffix:
                ages.setdefault(name.removesuffix(suffix), _start_time(place / name))
    return [place / stem for stem in sorted(ages, key=lambda stem: (ages[stem], stem))]


def _start_time(path: Path) -> float:
    """Seconds since 1970 at which a run began, as well as one of its files can tell."""
    try:
        if path.name.endswith(INFO_SUFFIX):
            begun = json.loads(path.read_text(encoding="utf-8"))["start_unix_ns"]
            return float(begun) / 1e9
    except (OSError, ValueError, KeyError, TypeError):
        pass  # the file's own time will do
    return path.stat().st_mtime


def _read_info(path: Path, notes: list[str]) -> Mapping[str, Any]:
    if not path.is_file():
        notes.append(f"there is no {path.name}, so mode, window and parameters are not known")
        return {}
    text = _read_text(path)
    if not text.strip():
        # Reserved by start() and killed, or looked at, before its first text was written.
        notes.append(f"{path.name} is empty: the run had just begun when it was written")
        return {"state": "running"}
    try:
        info = json.loads(text)
    except ValueError as error:
        raise IoError(
            f"'{path}' is not JSON ({error}); iterscope replaces this file as a whole, so "
            "something else has changed it: restore it, or move it away to load the CSV alone"
        ) from error
    if not isinstance(info, dict):
        raise IoError(f"'{path}' is not a run.json (it holds no object); name another file")
    return info


def _read_metrics(
    path: Path, notes: list[str]
) -> tuple[tuple[str, ...], tuple[dict[str, Cell], ...]]:
    if not path.is_file():
        return (), ()
    try:
        lines = list(csv.reader(io.StringIO(_read_text(path), newline="")))
    except csv.Error as error:
        raise IoError(f"'{path}' is not CSV ({error}); name another file") from error
    if not lines:
        return (), ()
    columns, body = tuple(lines[0]), lines[1:]
    if body and len(body[-1]) != len(columns):
        body.pop()
        notes.append(f"the last line of {path.name} is not whole and was left out")
    for number, cells in enumerate(body, start=1):
        if len(cells) != len(columns):
            raise IoError(
                f"'{path}' has {len(cells)} cells in row {number} (its header has {len(columns)}); "
                "something else has changed this file"
            )
    rows = (
        {column: _cell(column, text) for column, text in zip(columns, cells, strict=True)}
        for cells in body
    )
    return columns, tuple(rows)


def _read_text(path: Path) -> str:
    try:
        # newline="": a line break inside a quoted name is part of the name.
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise IoError(f"'{path}' is not UTF-8 text ({error}); name another file") from error
    except OSError as error:
        raise IoError(
            f"'{path}' cannot be read ({error.strerror}); check its permissions"
        ) from error


def _cell(column: str, text: str) -> Cell:
    if text == "":
        return None
    try:
        return int(text) if column == ITERATION else float(text)
    except ValueError:
        return text
