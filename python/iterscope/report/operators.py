"""The operators of a run in mode torch, summed over its iterations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iterscope.report.run import Run

SECTION = "section"
OPERATOR = "op"


@dataclass(frozen=True)
class OperatorSummary:
    """One operator in one region, over all recorded iterations; times in seconds, memory in MiB."""

    section: str
    op: str
    count: int
    cpu_sec: float
    cuda_sec: float
    memory_mb: float


def has_operators(run: Run) -> bool:
    """Whether the run's rows are operators (mode torch) rather than iterations."""
    return SECTION in run.columns and OPERATOR in run.columns


def summarize_operators(run: Run) -> list[OperatorSummary]:
    """Sum the rows of each operator: regions in the order of the file, longest operators first."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in run.rows:
        key = (str(row.get(SECTION)), str(row.get(OPERATOR)))
        total = sums.setdefault(key, [0.0] * 4)
        for place, column in enumerate(("count", "cpu_sec", "cuda_sec", "mem_mb")):
            value = row.get(column)
            total[place] += value if isinstance(value, int | float) else 0.0
    sections = list(dict.fromkeys(section for section, _ in sums))
    found = [
        OperatorSummary(section, op, round(count), cpu, cuda, memory)
        for (section, op), (count, cpu, cuda, memory) in sums.items()
    ]
    return sorted(found, key=lambda row: (sections.index(row.section), -row.cuda_sec, -row.cpu_sec))
