"""What a careful Python author writes instead: the same interface on generator context managers.

A fair peer for the overhead benchmarks: window check, accumulation, a fresh dict; nothing else.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class GeneratorProfiler:
    """Wall clock of named regions inside a window."""

    def __init__(self, enabled: bool, warmup: int = 0, active: int = 0) -> None:
        self.enabled = enabled
        self.warmup = warmup
        self.active = active
        self.iteration = 0
        self.times: dict[str, float] = {}
        self.metrics: dict[str, float] = {}
        self.start = time.perf_counter()

    def is_recording(self) -> bool:
        """Whether the iteration lies inside the window."""
        if not self.enabled or self.iteration < self.warmup:
            return False
        return self.active == 0 or self.iteration < self.warmup + self.active

    @contextmanager
    def track_step(self, name: str) -> Iterator[None]:
        """Add the time of the body to the region `name`."""
        if not self.is_recording():
            yield
            return
        start = time.perf_counter()
        try:
            yield
        finally:
            elapsed = time.perf_counter() - start
            self.times[name] = self.times.get(name, 0.0) + elapsed

    def end_iteration(self) -> None:
        """Close the iteration."""
        if self.is_recording():
            now = time.perf_counter()
            self.metrics = {"total_time_sec": now - self.start}
            for name, elapsed in self.times.items():
                self.metrics[f"{name}_time_sec"] = elapsed
            self.times.clear()
            self.start = time.perf_counter()
        else:
            self.metrics = {}
        self.iteration += 1

    def get_current_metrics(self) -> dict[str, float]:
        """A fresh dict of the iteration that ended last."""
        return dict(self.metrics)
