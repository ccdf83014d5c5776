"""What the benchmarks share: interleaved medians, the machine's context, a table, a JSON file."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

RESULTS = Path(__file__).parent / "results"


@dataclass
class Ratio:
    """One figure: how ours compares with a peer that was measured in the same run."""

    name: str
    ours_sec: float
    peer_sec: float
    #: "at least" for a speed-up (peer / ours), "at most" for a cost (ours / peer).
    goal: str
    limit: float

    @property
    def value(self) -> float:
        """The figure that the goal speaks of."""
        if self.goal == "at least":
            return self.peer_sec / self.ours_sec
        return self.ours_sec / self.peer_sec

    @property
    def is_met(self) -> bool:
        """Whether the figure keeps its limit."""
        return self.value >= self.limit if self.goal == "at least" else self.value <= self.limit


def interleaved(functions: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of one call of each function; they take turns, so that drift hits all."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(samples) for name, samples in times.items()}


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def machine_context() -> dict[str, object]:
    """What a figure depends on beside the code."""
    import torch

    import iterscope

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "iterscope": iterscope.__version__,
        "load": os.getloadavg()[0],
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def seconds(value: float) -> str:
    """A time with the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def print_table(title: str, ratios: Sequence[Ratio]) -> None:
    """One line a figure."""
    width = max(len(ratio.name) for ratio in ratios)
    print(f"\n{title}")
    print(f"{'':{width}}  {'ours':>10}  {'peer':>10}  {'ratio':>7}  goal")
    for ratio in ratios:
        verdict = "" if ratio.is_met else "  MISSED"
        print(
            f"{ratio.name:{width}}  {seconds(ratio.ours_sec):>10}  {seconds(ratio.peer_sec):>10}  "
            f"{ratio.value:>6.2f}x  {ratio.goal} {ratio.limit:g}x{verdict}"
        )


def write_json(name: str, ratios: Sequence[Ratio], extra: Mapping[str, object]) -> Path:
    """Write the figures with the machine's context; returns the path."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {
        "context": machine_context(),
        "ratios": [{**asdict(r), "ratio": r.value, "met": r.is_met} for r in ratios],
        **extra,
    }
    path.write_text(json.dumps(content, indent=2) + "\n")
    print(f"written: {path}")
    return path
