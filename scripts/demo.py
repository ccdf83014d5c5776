"""Profile PnP on a photograph through BenchOpt, and show what came out.

Called by ``make demo``. Every call adds a run to ``outputs/``; nothing is overwritten.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchopt.results import read_results

from iterscope.report import format_run, load_run, save_figure

if TYPE_CHECKING:
    import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
BENCHMARK = "benchmark_inference"
OUTPUTS = "outputs"


def main() -> int:
    """Run the demo; returns BenchOpt's exit code when it fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--config",
        type=Path,
        default=ROOT / BENCHMARK / "configs" / "example.yml",
        help="configuration of the BenchOpt run (default: the example)",
    )
    config = parser.parse_args().config.resolve()
    results = _free_path(ROOT / OUTPUTS)
    code = _run_benchopt(config, results)
    if code != 0 or not results.exists():
        print("demo: the BenchOpt run failed; its messages are above", file=sys.stderr)
        return code or 1
    table = read_results(results)
    for name in table["objective_run_name"].unique():
        _show(table[table["objective_run_name"] == name], str(name), results)
    return 0


def _free_path(folder: Path) -> Path:
    """Find a name that no earlier demo has used."""
    folder.mkdir(exist_ok=True)
    names = itertools.chain(["demo"], (f"demo-{number}" for number in itertools.count(2)))
    return next(path for name in names if not (path := folder / f"{name}.parquet").exists())


def _run_benchopt(config: Path, results: Path) -> int:
    # --no-cache: a cached run would not run at all, and so would write no profiler files.
    command = [sys.executable, "-m", "benchopt", "run", BENCHMARK, "--config", str(config)]
    command += ["--no-cache", "--no-plot", "--output", str(results)]
    # The profiler's files go to outputs/ in the working directory.
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _show(rows: pd.DataFrame, name: str, results: Path) -> None:
    run = load_run(ROOT / OUTPUTS / name)
    first, last = rows.iloc[0], rows.iloc[-1]
    images = last["final_results"] if "final_results" in rows else None
    picture = save_figure(ROOT / OUTPUTS / f"{name}.png", run, images)
    print()
    print(format_run(run))
    print()
    for metric, form in (("psnr", "{:.2f} dB"), ("ssim", "{:.4f}")):
        start, end = (form.format(row[f"objective_{metric}"]) for row in (first, last))
        print(f"{metric.upper()}  {start} at the start, {end} at the end")
    print()
    print("The untracked rest includes BenchOpt's callback, which computes PSNR and SSIM.")
    print()
    paths = {
        "per iteration": run.metrics_path,
        "run": run.info_path,
        "BenchOpt rows": results,
        "picture": picture,
    }
    for title, path in paths.items():
        print(f"{title:<14} {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
