"""Test images without files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from iterscope import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

_SHAPES = 10


def generate_pattern(batch: int, channels: int, shape: Sequence[int], seed: int) -> Tensor:
    """Draw balls and boxes of random place, size and grey over a ramp.

    Returns float32 values in [0, 1] of shape (batch, channels, ...), followed by the two or three
    sides in ``shape``. Every image of the batch has its own shapes; equal seeds give equal
    patterns. Raises ``ConfigError`` for sizes below 1 and other numbers of sides.
    """
    sizes = (batch, channels, *shape)
    if len(shape) not in (2, 3) or not all(isinstance(size, int) and size > 0 for size in sizes):
        raise ConfigError(
            f"a pattern of {len(shape)} dimensions and sizes {sizes} cannot be made (batch, "
            "channels and the two or three sides must be whole numbers from 1 on); change "
            "dimension, image_size, batch_size or channels"
        )
    random = torch.Generator().manual_seed(seed)
    return torch.stack([_one_pattern(channels, shape, random) for _ in range(batch)])


def _one_pattern(channels: int, shape: Sequence[int], random: torch.Generator) -> Tensor:
    axes = [torch.linspace(0.0, 1.0, side) for side in shape]
    places = torch.stack(torch.meshgrid(*axes, indexing="ij"))
    image = (0.2 + 0.2 * places.mean(dim=0)).repeat(channels, *(1 for _ in shape))
    broadcast = (slice(None), *(None for _ in shape))
    for index in range(_SHAPES):
        centre, half_sides = torch.rand(2, len(shape), generator=random)
        offset = (places - centre[broadcast]).abs() / (0.05 + 0.2 * half_sides)[broadcast]
        # Even ones are balls (Euclidean norm), odd ones boxes (largest coordinate).
        distance = offset.square().sum(dim=0) if index % 2 == 0 else offset.amax(dim=0)
        grey = torch.rand(channels, generator=random)[broadcast]
        image = torch.where(distance <= 1.0, grey, image)
    return image
