"""Image quality with a fixed peak, image by image, through scikit-image's metrics.

All values belong to images whose pixels are meant to lie in [0, 1]: the peak is 1 and is never read
from the data, so that an image's numbers do not depend on its neighbours in a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from skimage.metrics import mean_squared_error, peak_signal_noise_ratio, structural_similarity

from iterscope import ConfigError

if TYPE_CHECKING:
    import torch

PEAK = 1.0
"""Largest possible pixel value; PSNR and SSIM are relative to it."""

SMALLEST_SSIM_SIDE = 11
"""SSIM's Gaussian window (sigma 1.5, cut at 3.5 sigma) spans 11 pixels and must fit."""

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class ImageQuality:
    """Metrics of one image.

    ``mse`` is the mean of the squared modulus of the error, ``psnr`` is in dB (``inf`` for an image
    equal to its reference) and ``ssim`` is NaN for an image with a side below 11 pixels.
    """

    psnr: float
    ssim: float
    mse: float


def image_quality(image: torch.Tensor, reference: torch.Tensor) -> list[ImageQuality]:
    """Compare each image of a batch with its reference.

    ``image`` and ``reference`` have one shape, (batch, channel, height, width) or (batch, channel,
    depth, height, width), any floating or complex dtype and any device; neither is changed.

    PSNR is ``10 log10(1 / mse)``. SSIM follows Wang, Bovik, Sheikh and Simoncelli, "Image quality
    assessment: from error visibility to structural similarity", IEEE TIP 13(4), 2004 (Gaussian
    window of sigma 1.5), averaged over channels; complex images are compared by their moduli.

    Raises ``ConfigError`` when the shapes differ or are of another kind.
    """
    if image.shape != reference.shape or image.dim() not in (4, 5):
        raise ConfigError(
            f"image of shape {tuple(image.shape)} cannot be compared with a reference of shape "
            f"{tuple(reference.shape)} (both need one shape, (batch, channel, [depth,] height, "
            "width)); check what the solver returns as its reconstruction"
        )
    pairs = zip(_to_numpy(image), _to_numpy(reference), strict=True)
    return [_one_quality(one, other) for one, other in pairs]


def mean_quality(qualities: list[ImageQuality]) -> ImageQuality:
    """Mean of each metric over the images of a batch.

    The PSNR is the mean of the images' values in dB: one perfect image makes it ``inf``, which is
    why callers report the images one by one as well.
    """
    return ImageQuality(
        psnr=fmean(quality.psnr for quality in qualities),
        ssim=fmean(quality.ssim for quality in qualities),
        mse=fmean(quality.mse for quality in qualities),
    )


def _to_numpy(images: torch.Tensor) -> Array:
    # NumPy has no bfloat16, and half precision is too coarse for a mean over a picture.
    plain = images.detach().cpu().resolve_conj()
    array: Array = (plain.float() if plain.dtype.itemsize < 4 else plain).numpy()
    return array


def _one_quality(image: Array, reference: Array) -> ImageQuality:
    # The library squares without the modulus, so complex errors go in by their modulus; for real
    # images that changes nothing.
    error = np.abs(image - reference)
    nothing = np.zeros_like(error)
    with np.errstate(divide="ignore"):  # an image equal to its reference: log(1/0) is inf, quietly
        psnr = peak_signal_noise_ratio(nothing, error, data_range=PEAK)  # type: ignore[no-untyped-call]
    return ImageQuality(
        psnr=float(psnr),
        ssim=_structural_similarity(image, reference),
        mse=float(mean_squared_error(nothing, error)),
    )


def _structural_similarity(image: Array, reference: Array) -> float:
    if min(image.shape[1:]) < SMALLEST_SSIM_SIDE:
        return float("nan")
    if np.iscomplexobj(image):
        image, reference = np.abs(image), np.abs(reference)
    similarity = structural_similarity(  # type: ignore[no-untyped-call]
        reference,
        image,
        data_range=PEAK,
        channel_axis=0,
        gaussian_weights=True,
        use_sample_covariance=False,
    )
    return float(similarity)
