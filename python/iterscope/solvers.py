"""Iterative solvers that mark their regions for a profiler."""

from __future__ import annotations

from iterscope._iterscope import PnP, solver_device

__all__ = ["PnP", "solver_device"]
