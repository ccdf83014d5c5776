"""Denoisers, the priors of the solvers."""

from __future__ import annotations

from iterscope._iterscope import Denoiser, TVDenoiser, make_denoiser, total_variation

__all__ = ["Denoiser", "TVDenoiser", "make_denoiser", "total_variation"]
