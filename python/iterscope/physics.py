"""Linear measurement operators. Measurements are lists of tensors, one an acquisition."""

from __future__ import annotations

from iterscope._iterscope import (
    Denoising,
    LinearPhysics,
    MultiFrameSuperResolution,
    StackedPhysics,
    add_gaussian_noise,
    gaussian_kernels,
)

__all__ = [
    "Denoising",
    "LinearPhysics",
    "MultiFrameSuperResolution",
    "StackedPhysics",
    "add_gaussian_noise",
    "gaussian_kernels",
]
