"""The command ``iterscope``: shows what a run left on disk."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from iterscope import Error, IoError, __version__
from iterscope.report import find_runs, format_run, load_run

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 0, or 1 after an error. Wrong arguments exit with 2 (argparse)."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        failed = False
        if given.command == "show":
            failed = _show(given.paths)
        else:
            print(__version__)
        sys.stdout.flush()
        return 1 if failed else 0
    except Error as error:
        print(f"iterscope: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader (head, less) has seen enough; what Python still flushes at exit goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="iterscope", description="Show what a profiled run left on disk."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    show = commands.add_parser(
        "show",
        help="print a run's table: time per region, its share, what is untracked",
        description="Print a run's table. Of a folder, all runs in it are shown, oldest first.",
    )
    show.add_argument(
        "paths",
        metavar="RUN|FOLDER",
        nargs="+",
        type=Path,
        help="a run's _run.json or _gpu_metrics.csv (or their common stem), or a folder of runs",
    )
    commands.add_parser("version", help="print the version", description="Print the version.")
    return parser


def _show(paths: Sequence[Path]) -> bool:
    """Print what can be read; True if a run could not be."""
    tables = []
    failed = False
    for run in [run for path in paths for run in _runs(path)]:
        try:
            tables.append(format_run(load_run(run)))
        except Error as error:  # a damaged run hides no other
            failed = True
            print(f"iterscope: {error}", file=sys.stderr)
    text = "\n\n".join(tables)
    if not text:
        return failed
    # A terminal that cannot show a letter of a region's name gets an escape for it.
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))
    return failed


def _runs(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    runs = find_runs(path)
    if not runs:
        raise IoError(
            f"folder '{path}' holds no runs (no file in it ends in _run.json); name a folder in "
            "which a solver ran with save_file, usually outputs"
        )
    return runs


if __name__ == "__main__":
    sys.exit(main())
