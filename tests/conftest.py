"""Shared by all Python tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

# Markers whose tests this machine provides for, so that a skip is a fault: "root slurm".
MUST_RUN = set(os.environ.get("ITERSCOPE_MUST_RUN", "").split())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    provided = sorted(MUST_RUN & {marker.name for marker in item.iter_markers()})
    if report.skipped and provided:
        report.outcome = "failed"
        report.longrepr = (
            f"skipped, but ITERSCOPE_MUST_RUN names {', '.join(provided)}: {report.longrepr}"
        )
    return report
