"""Iterative solvers that mark their regions for a profiler."""

from __future__ import annotations

from iterscope._iterscope import PnP

__all__ = ["PnP"]
