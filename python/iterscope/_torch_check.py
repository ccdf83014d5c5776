"""Keeps the extension from being loaded against a PyTorch that it was not built for."""

from __future__ import annotations

import re

from iterscope._build_info import TORCH_VERSION


def _minor(version: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def mismatch(installed: str, built: str) -> str | None:
    """Why an extension built against `built` must not run with `installed`; None if it may.

    The layouts that iterscope uses change between minor versions of PyTorch.
    """
    if _minor(installed) == _minor(built):
        return None
    return (
        f"iterscope was built against PyTorch {built}, but PyTorch {installed} is installed "
        "(their binary layouts differ); rebuild it against this one: "
        "pip install --no-build-isolation --force-reinstall --no-deps iterscope, "
        f"or install PyTorch {built}"
    )


def require_matching_torch() -> None:
    """Import PyTorch, whose libraries the extension needs; raise ImportError with the cure."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            f"iterscope needs PyTorch (it was built against {TORCH_VERSION}); "
            f"pip install torch=={TORCH_VERSION}"
        ) from None
    problem = mismatch(torch.__version__, TORCH_VERSION)
    if problem is not None:
        raise ImportError(problem)
