"""Cost of mode torch against torch.profiler restarted each iteration with its events read.

    python benchmarks/torch_mode.py [--rounds 15] [--iterations 10000]

Extra time is what an iteration takes beyond the same one under profiler mode None, in medians
that were measured in turn within one run. Shares of an iteration are computed: the cost of a
region, of an operator event and of the end of an iteration, times their numbers, over the median
iteration. Costs of events are those of a loop, in warm caches. The difference measured on the whole
iteration, in the caches that its own work leaves, stands beside it with its 95 % interval.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import inspect
import random
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.profiler import ProfilerActivity, profile, record_function

import iterscope
from _common import Ratio, print_table, seconds, write_json

if TYPE_CHECKING:
    from collections.abc import Callable

PERF = time.perf_counter
#: At least this much less extra time than torch.profiler, by workload; None: no goal.
LESS_EXTRA_TIME = {
    "observer": {"empty": 100, "50 operators": 100, "500 operators": 100, "5,000 operators": 100},
    "kineto": {"empty": 2, "50 operators": 4, "500 operators": 8, "5,000 operators": 8},
}
OPERATOR_SEC = 0.4e-6
SHARE = {"PnP iteration": 0.005, "training step": 0.003}


@dataclass
class Workload:
    """One iteration: `regions` as (name, what runs in it)."""

    name: str
    regions: list[tuple[str, Callable[[], object]]]
    #: Iterations that make one sample, ours and the peer's.
    batch: int = 1
    peer_batch: int = 1
    after: Callable[[], object] | None = None


@dataclass
class Measured:
    """Extra seconds of an iteration, turn by turn, and the seconds of one under mode None."""

    none: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)

    def difference(self) -> tuple[float, float, float]:
        """Median extra time of ours with its 95 % interval (bootstrap)."""
        draw = random.Random(0)
        medians = sorted(
            statistics.median(draw.choices(self.ours, k=len(self.ours))) for _ in range(2000)
        )
        return statistics.median(self.ours), medians[50], medians[-51]


def create(mode: str | None, collector: str, **options: object) -> object:
    """A profiler; the collector is named only where iterscope can choose one."""
    if mode == "torch" and has_collectors():
        options["collector"] = collector
    return iterscope.create_profiler(mode, "cpu", **options)


def has_collectors() -> bool:
    return "collector" in inspect.signature(iterscope.create_profiler).parameters


def sample(workload: Workload, mode: str | None, collector: str) -> float:
    """Seconds of one iteration under a profiler of ours."""
    with create(mode, collector) as profiler:
        regions = [(profiler.region(name), work) for name, work in workload.regions]

        def iterate(count: int) -> None:
            for _ in range(count):
                for region, work in regions:
                    with region:
                        work()
                if workload.after is not None:
                    workload.after()
                profiler.end_iteration()
                profiler.get_current_metrics()

        iterate(3)  # the first ones make the rows of the tables
        start = PERF()
        iterate(workload.batch)
        return (PERF() - start) / workload.batch


def peer_sample(workload: Workload) -> float:
    """The same under torch.profiler, started, stopped and read in each iteration."""
    start = PERF()
    for _ in range(workload.peer_batch):
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            for name, work in workload.regions:
                with record_function(name):
                    work()
            if workload.after is not None:
                workload.after()
        profiler.key_averages()
    return (PERF() - start) / workload.peer_batch


def measure(workload: Workload, collector: str, rounds: int, peer_rounds: int) -> Measured:
    """All three in turn."""
    sample(workload, None, collector)
    sample(workload, "torch", collector)
    measured = Measured()
    for i in range(rounds):
        # Whoever comes first in a turn finds other caches: they take turns in that too.
        turn = {}
        for mode in (None, "torch") if i % 2 else ("torch", None):
            turn[mode] = sample(workload, mode, collector)
        measured.none.append(turn[None])
        measured.ours.append(turn["torch"] - turn[None])
        if len(measured.peer) * rounds < peer_rounds * (i + 1):
            measured.peer.append(peer_sample(workload) - turn[None])
    return measured


def repeated(operator: Callable[[], object], count: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(count):
            operator()

    return run


def nothing() -> None:
    pass


def small_workloads() -> list[Workload]:
    x, y = torch.zeros(8), torch.ones(8)
    workloads = [Workload("empty", [("gradient", nothing), ("denoise", nothing)], 500, 5)]
    for count, batch in ((50, 50), (500, 5), (5000, 1)):
        work = repeated(lambda: x.add_(y), count)
        workloads.append(Workload(f"{count:,} operators", [("gradient", work)], batch))
    return workloads


def convolutions(layers: int, channels: int) -> torch.nn.Sequential:
    parts: list[torch.nn.Module] = [torch.nn.Conv2d(3, channels, 3, padding=1)]
    for _ in range(layers - 2):
        parts += [torch.nn.ReLU(), torch.nn.Conv2d(channels, channels, 3, padding=1)]
    return torch.nn.Sequential(*parts, torch.nn.Conv2d(channels, 3, 3, padding=1))


def pnp_iteration() -> Workload:
    """A gradient of least squares and a convolutional denoiser: about 290 events, 30 ms."""
    model = convolutions(19, 16).requires_grad_(False)
    kernel = torch.rand(3, 1, 5, 5)
    image, data = torch.rand(1, 3, 160, 160), torch.rand(4, 1, 3, 80, 80)
    state = {"x": image}

    def gradient() -> None:
        x = state["x"]
        total = torch.zeros_like(x)
        for measurement in data:
            blurred = torch.nn.functional.conv2d(x, kernel, stride=2, padding=2, groups=3)
            total += torch.nn.functional.conv_transpose2d(
                blurred - measurement, kernel, stride=2, padding=2, output_padding=1, groups=3
            )
        state["x"] = x - 1e-3 * total

    def denoise() -> None:
        with torch.no_grad():
            state["x"] = (state["x"] - 1e-3 * model(state["x"])).clamp(0, 1)

    return Workload("PnP iteration", [("gradient", gradient), ("denoise", denoise)])


def training_step() -> Workload:
    """Forward and backward of a convolutional network, Adam outside both regions."""
    torch.manual_seed(0)
    model = convolutions(20, 32)
    images, targets = torch.rand(2, 3, 96, 96), torch.rand(2, 3, 96, 96)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
    state: dict[str, torch.Tensor] = {}

    def forward() -> None:
        state["loss"] = torch.nn.functional.mse_loss(model(images), targets)

    def step() -> None:
        optimizer.step()
        optimizer.zero_grad()

    regions = [("forward", forward), ("backward", lambda: state["loss"].backward())]
    return Workload("training step", regions, after=step)


def unit_costs(collector: str, rounds: int) -> dict[str, float]:
    """Extra seconds of one region, one operator event, and one report of the allocator.

    An operator that allocates is one event and two reports: its result comes and goes.
    """
    x, y = torch.zeros(8), torch.ones(8)

    def cost(work: Workload, count: int) -> float:
        # Short turns and many of them: what else runs on the machine hits few.
        difference, _, _ = measure(work, collector, rounds * 20, 0).difference()
        return difference / count

    def operators(operator: Callable[[], object]) -> float:
        return cost(Workload("", [("r", repeated(operator, 1000))]), 1000)

    in_place, allocating = operators(lambda: x.add_(y)), operators(lambda: x.add(y))
    return {
        "region": cost(Workload("", [("r", nothing)] * 500), 500),
        "operator in place": in_place,
        "operator that allocates": allocating,
        "memory report": max(0.0, (allocating - in_place) / 2),
    }


def end_of_iteration(workload: Workload, collector: str, rounds: int) -> float:
    """Seconds of the end of an iteration, in the caches that its work leaves."""
    times = []
    with create("torch", collector) as profiler:
        for _ in range(rounds + 1):
            for name, work in workload.regions:
                with profiler.track_step(name):
                    work()
            if workload.after is not None:
                workload.after()
            start = PERF()
            profiler.end_iteration()
            profiler.get_current_metrics()
            times.append(PERF() - start)
    return statistics.median(times[1:])


def events_of(workload: Workload) -> tuple[int, int]:
    """Operator events and reports of the allocator; those outside every region are seen too."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as counter:
        for _, work in workload.regions:
            work()
        if workload.after is not None:
            workload.after()
    names = [event.name() for event in counter.profiler.kineto_results.events()]
    reports = names.count("[memory]")
    return len(names) - reports, reports


def share(
    workload: Workload, collector: str, costs: dict[str, float], measured: Measured, rounds: int
) -> dict[str, float]:
    """What the profiler takes of this iteration, computed, and measured on the whole."""
    end_sec = end_of_iteration(workload, collector, rounds)
    events, reports = events_of(workload)
    own = (
        end_sec
        + len(workload.regions) * costs["region"]
        + events * costs["operator in place"]
        + reports * costs["memory report"]
    )
    iteration = statistics.median(measured.none)
    difference, low, high = measured.difference()
    print(
        f"{workload.name}: {seconds(iteration)}, {events} events, {reports} memory reports; "
        f"computed {seconds(own)} = {own / iteration:.3%}; measured {difference / iteration:+.2%} "
        f"[{low / iteration:+.2%}, {high / iteration:+.2%}]"
    )
    return {
        "iteration_sec": iteration,
        "events": events,
        "memory_reports": reports,
        "end_of_iteration_sec": end_sec,
        "computed_sec": own,
        "computed_share": own / iteration,
        "measured_share": difference / iteration,
        "measured_share_low": low / iteration,
        "measured_share_high": high / iteration,
    }


def outside_the_window(rounds: int) -> list[Ratio]:
    """A region before and after the window against one of mode None."""
    calls = 20_000
    null = iterscope.create_profiler(None, "cpu")
    before = iterscope.create_profiler("torch", "cpu", warmup=10)
    after = iterscope.create_profiler("torch", "cpu", active=1)
    with null, before, after:
        after.end_iteration()
        regions = {
            name: profiler.region("gradient")
            for name, profiler in {"None": null, "before": before, "after": after}.items()
        }
        times: dict[str, list[float]] = {name: [] for name in regions}
        for _ in range(rounds * 3):
            for name, region in regions.items():
                start = PERF()
                for _ in range(calls):
                    with region:
                        pass
                times[name].append((PERF() - start) / calls)
    median = {name: statistics.median(samples) for name, samples in times.items()}
    return [
        Ratio(f"region {name} the window / None", median[name], median["None"], "at most", 1.1)
        for name in ("before", "after")
    ]


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def memory_growth(collector: str, iterations: int) -> dict[str, float]:
    """MiB that many iterations, and many operators of different names, add."""
    x, y = torch.zeros(8), torch.ones(8)
    with create("torch", collector) as profiler:
        for i in range(iterations):
            if i == iterations // 10:
                before = resident_mib()
            with profiler.track_step("r"):
                for _ in range(10):
                    x.add(y)
            profiler.end_iteration()
            profiler.get_current_metrics()
        by_iterations = resident_mib() - before
        for i in range(20):
            if i == 2:
                before = resident_mib()
            with profiler.track_step("r"):
                for n in range(1000):
                    with record_function(f"label {n}"):
                        pass
            profiler.end_iteration()
        by_names = resident_mib() - before
    print(
        f"resident memory: {iterations:,} iterations {by_iterations:+.2f} MiB after the first "
        f"tenth, 1,000 names {by_names:+.2f} MiB after the first two rounds"
    )
    return {"iterations": iterations, "iterations_mib": by_iterations, "names_mib": by_names}


def collector_figures(collector: str, rounds: int) -> tuple[list[Ratio], dict[str, object]]:
    """Everything about one collector."""
    ratios: list[Ratio] = []
    samples: dict[str, object] = {}
    shares: dict[str, object] = {}
    costs = unit_costs(collector, rounds)
    large = [pnp_iteration(), training_step()]
    for workload in small_workloads() + large:
        peer_rounds = 5 if workload.name == "5,000 operators" else rounds
        more = rounds * 4 if workload in large else rounds
        measured = measure(workload, collector, more, peer_rounds)
        samples[workload.name] = asdict(measured)
        goal = LESS_EXTRA_TIME[collector].get(workload.name)
        ours = statistics.median(measured.ours)
        if workload in large:
            shares[workload.name] = figures = share(workload, collector, costs, measured, rounds)
            ours, goal = figures["computed_sec"], LESS_EXTRA_TIME[collector]["500 operators"]
        name = f"{workload.name}, extra time"
        ratios.append(Ratio(name, ours, statistics.median(measured.peer), "at least", goal))
    if collector == "observer":
        for name in ("operator in place", "operator that allocates"):
            ratios.append(Ratio(f"{name} / 0.4 us", costs[name], OPERATOR_SEC, "at most", 1))
        for name, limit in SHARE.items():
            budget = shares[name]["iteration_sec"] * limit
            own = shares[name]["computed_sec"]
            ratios.append(Ratio(f"{name} / {limit:.1%} of it", own, budget, "at most", 1))
    print(f"a region {seconds(costs['region'])}, an operator {seconds(costs['operator in place'])}")
    return ratios, {"unit_costs_sec": costs, "shares": shares, "samples_sec": samples}


def keep_freed_memory() -> None:
    """Tell glibc to keep what is freed: page faults for it would hide everything else."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        trim_threshold, mmap_threshold = -1, -3
        libc.mallopt(trim_threshold, 1 << 30)
        libc.mallopt(mmap_threshold, 1 << 25)  # the most that every glibc takes


def main() -> int:
    """Run all; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    ratios: list[Ratio] = []
    extra: dict[str, object] = {}
    for collector in LESS_EXTRA_TIME if has_collectors() else ["observer"]:
        found, details = collector_figures(collector, options.rounds)
        details["memory"] = memory_growth(collector, options.iterations)
        print_table(f"Mode torch, {collector}, against torch.profiler", found)
        ratios += [
            Ratio(f"{collector}: {r.name}", r.ours_sec, r.peer_sec, r.goal, r.limit) for r in found
        ]
        extra[collector] = details
    outside = outside_the_window(options.rounds)
    print_table("Mode torch outside the window", outside)
    write_json("torch_mode", ratios + outside, extra)
    return 0 if all(ratio.is_met for ratio in ratios + outside) else 1


if __name__ == "__main__":
    sys.exit(main())
