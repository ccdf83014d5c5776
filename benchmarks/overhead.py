"""Cost of profiling: regions and iterations in C++ and from Python, and a million iterations.

    python benchmarks/overhead.py [--cpp build/release/benchmarks/overhead_core]

Each figure is a ratio within one run, of medians that were measured in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import iterscope
from _common import Ratio, interleaved, print_table, seconds, write_json
from peers.generator_profiler import GeneratorProfiler

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = 20_000


def cpp_ratios(binary: Path) -> list[Ratio]:
    """Regions in C++ against bare clock reads."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                str(binary.resolve()),
                "--benchmark_format=json",
                "--benchmark_repetitions=15",
                "--benchmark_enable_random_interleaving=true",
                "--benchmark_min_time=0.05",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
            cwd=folder,
        )
    samples: dict[str, list[float]] = {}
    for run in json.loads(done.stdout)["benchmarks"]:
        if run["run_type"] == "iteration":
            samples.setdefault(run["name"].split("/")[0], []).append(run["real_time"] * 1e-9)
    median = {name: statistics.median(times) for name, times in samples.items()}
    one, two = median["one_clock_read"], median["two_clock_reads"]
    # A region outside the window may cost 5 ns or a fifth of a clock read, whichever is more.
    idle = max(5e-9, one / 5)
    return [
        Ratio("C++ region, custom / two clock reads", median["region_custom"], two, "at most", 1.5),
        Ratio("C++ region, None / 5 ns", median["region_null"], idle, "at most", 1),
        Ratio("C++ region, in warm-up / 5 ns", median["region_in_warmup"], idle, "at most", 1),
        Ratio("C++ region, after window / 5 ns", median["region_after_window"], idle, "at most", 1),
        Ratio(
            "C++ iteration, 2 regions, custom / 6 clock reads",
            median["iteration_custom"],
            3 * two,
            "at most",
            2,
        ),
        Ratio(
            "C++ iteration with CSV / without",
            median["iteration_custom_with_csv"],
            median["iteration_custom"],
            "at most",
            100,
        ),
    ]


def region_loop(profiler: object) -> Callable[[], None]:
    """Many empty regions."""

    def run() -> None:
        track_step = profiler.track_step  # type: ignore[attr-defined]
        for _ in range(CALLS):
            with track_step("gradient"):
                pass

    return run


def iteration_loop(profiler: object) -> Callable[[], None]:
    """Many empty iterations of two regions, as a solver writes them."""

    def run() -> None:
        for _ in range(CALLS):
            with profiler.track_step("gradient"):  # type: ignore[attr-defined]
                pass
            with profiler.track_step("denoise"):  # type: ignore[attr-defined]
                pass
            profiler.end_iteration()  # type: ignore[attr-defined]
            profiler.get_current_metrics()  # type: ignore[attr-defined]

    return run


def python_ratios() -> list[Ratio]:
    """The Python interface against generator context managers."""
    null = iterscope.create_profiler(None, "cpu")
    custom = iterscope.create_profiler("custom", "cpu")
    peer_off, peer_on = GeneratorProfiler(enabled=False), GeneratorProfiler(enabled=True)
    profilers = {"null": null, "custom": custom, "peer_off": peer_off, "peer_on": peer_on}
    with null, custom:
        region = interleaved({k: region_loop(p) for k, p in profilers.items()}, 15)
        iteration = interleaved({k: iteration_loop(p) for k, p in profilers.items()}, 15)
    region = {name: value / CALLS for name, value in region.items()}
    iteration = {name: value / CALLS for name, value in iteration.items()}
    return [
        Ratio("Python region, None", region["null"], region["peer_off"], "at least", 8),
        Ratio("Python region, custom", region["custom"], region["peer_on"], "at least", 5),
        Ratio("Python iteration, None", iteration["null"], iteration["peer_off"], "at least", 8),
        Ratio("Python iteration, custom", iteration["custom"], iteration["peer_on"], "at least", 4),
    ]


def million_iterations(mode: str | None, save_file: bool, count: int) -> dict[str, object]:
    """Time of the first and the last tenth of many iterations, and what memory grew after it."""
    tenth = count // 10
    blocks = []
    with iterscope.create_profiler(mode, "cpu", name="million", save_file=save_file) as profiler:
        for block in range(10):
            start = time.perf_counter()
            for _ in range(tenth):
                with profiler.track_step("gradient"):
                    pass
                with profiler.track_step("denoise"):
                    pass
                profiler.end_iteration()
                profiler.get_current_metrics()
            blocks.append((time.perf_counter() - start) / tenth)
            if block == 0:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    label = f"{mode}{' with CSV' if save_file else ''}"
    print(
        f"{count:,} iterations, {label}: {seconds(statistics.median(blocks))} each, last tenth / "
        f"first {blocks[-1] / blocks[0]:.2f}x, memory +{grown_kib / 1024:.1f} MiB"
    )
    return {
        "mode": label,
        "iterations": count,
        "sec_by_tenth": blocks,
        "grown_mib_after_first_tenth": grown_kib / 1024,
    }


def main() -> int:
    """Run all; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cpp", type=Path, default=Path("build/release/benchmarks/overhead_core"), metavar="BINARY"
    )
    parser.add_argument("--iterations", type=int, default=1_000_000)
    options = parser.parse_args()
    ratios = cpp_ratios(options.cpp) if options.cpp.exists() else []
    if not ratios:
        print(f"no C++ figures: {options.cpp} is not built", file=sys.stderr)
    ratios += python_ratios()
    print_table("Cost of profiling", ratios)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        runs = [
            million_iterations(mode, save_file, options.iterations)
            for mode, save_file in ((None, False), ("custom", False), ("custom", True))
        ]
        os.chdir(here)
    write_json("overhead", ratios, {"long_runs": runs})
    return 0 if all(ratio.is_met for ratio in ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
