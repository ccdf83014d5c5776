"""Photographs as tensors: those inside scikit-image's wheel, or a file of the user's own.

Nothing is ever downloaded: a picture is read from the installed package or from the given path.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import skimage
from imageio.v3 import imread
from skimage.transform import resize
from skimage.util import img_as_float32

from iterscope import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

PHOTOGRAPHS = {
    "astronaut": "astronaut.png",  # 512 x 512, colour
    "brick": "brick.png",  # 512 x 512, grey
    "camera": "camera.png",  # 512 x 512, grey
    "cell": "cell.png",  # 660 x 550, grey
    "chelsea": "chelsea.png",  # 300 x 451, colour
    "clock": "clock_motion.png",  # 300 x 400, grey
    "coffee": "coffee.png",  # 400 x 600, colour
    "coins": "coins.png",  # 303 x 384, grey
    "grass": "grass.png",  # 512 x 512, grey
    "gravel": "gravel.png",  # 512 x 512, grey
    "hubble_deep_field": "hubble_deep_field.jpg",  # 872 x 1000, colour
    "immunohistochemistry": "ihc.png",  # 512 x 512, colour
    "moon": "moon.png",  # 512 x 512, grey
    "motorcycle": "motorcycle_left.png",  # 500 x 741, colour
    "page": "page.png",  # 191 x 384, grey
    "retina": "retina.jpg",  # 1411 x 1411, colour
    "rocket": "rocket.jpg",  # 427 x 640, colour
    "text": "text.png",  # 172 x 448, grey
}
"""Photographs that scikit-image ships in its wheel, by name (the comments say height x width)."""

Array = np.ndarray[Any, np.dtype[Any]]


def load_picture(picture: str, image_size: int | Sequence[int] | None = None) -> torch.Tensor:
    """Read a picture as a tensor of shape (1, channel, height, width), float32, values in [0, 1].

    ``picture`` is a name from ``PHOTOGRAPHS`` or the path of an image file (or of a ``.npy`` array
    of shape (height, width) or (height, width, channel) with values in [0, 1]); ``moon`` is the
    photograph and ``./moon`` a file. Grey pictures have one channel, colour ones three;
    transparency is dropped.

    ``image_size`` is a side (for a square), a pair (height, width), or ``None`` for the picture's
    own size. The largest middle part of the wanted proportions is cut out and resized with
    anti-aliasing; sizes above the picture's own are interpolated.

    Raises ``ConfigError`` for an unknown name, a missing or unreadable file, or a wrong size.
    """
    import torch

    array = _normalised(_read(picture), picture)
    if image_size is not None:
        height, width = image_shape(image_size)
        array = _central_part(array, *_largest_like(array.shape, height, width))
        # The library's functions have no types.
        resized = resize(array, (height, width), anti_aliasing=True)  # type: ignore[no-untyped-call]
        array = np.clip(resized, 0.0, 1.0)
    channels_first = np.ascontiguousarray(array.transpose(2, 0, 1), dtype=np.float32)
    return torch.from_numpy(channels_first).unsqueeze(0)


def image_shape(image_size: int | Sequence[int]) -> tuple[int, int]:
    """Turn a side or a pair (height, width) into a checked pair; errors are ``ConfigError``."""
    sides: list[Any] = list(image_size) if isinstance(image_size, list | tuple) else [image_size]
    whole = all(isinstance(side, int) and not isinstance(side, bool) for side in sides)
    if not whole or len(sides) not in (1, 2) or min(sides) < 1:
        raise ConfigError(
            f"image_size {image_size!r} is not a size (it must be a whole number of pixels or a "
            "pair of them, height and width); write for instance 256, or [[256, 384]] in YAML"
        )
    return sides[0], sides[-1]


def _read(picture: str) -> Array:
    named = PHOTOGRAPHS.get(picture)
    path = Path(skimage.__file__).parent / "data" / named if named else Path(picture).expanduser()
    if named is None and path.name == picture and not path.suffix and not path.exists():
        raise ConfigError(
            f"picture '{picture}' is not known (it is neither a photograph that scikit-image ships "
            f"nor a file); choose one of {', '.join(PHOTOGRAPHS)}, or give the path of a file"
        )
    if not path.is_file():
        raise ConfigError(
            f"picture '{picture}' cannot be read (there is no file {path}); give the path of an "
            f"image file, or one of {', '.join(PHOTOGRAPHS)}"
        )
    try:
        if path.suffix == ".npy":
            array: Array = np.load(path, allow_pickle=False)
        else:
            # Named readers: left to choose, imageio tries dozens on a file that is no image.
            plugin = "tifffile" if path.suffix.lower() in (".tif", ".tiff") else "pillow"
            array = np.asarray(imread(path, plugin=plugin))
    except (OSError, ValueError, SyntaxError) as error:
        raise ConfigError(
            f"picture '{picture}' cannot be read ({error}); give a PNG, JPEG or TIFF file"
        ) from error
    return array


def _normalised(array: Array, picture: str) -> Array:
    """Bring the array to (height, width, 1 or 3), float32 in [0, 1]."""
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim == 3 and array.shape[2] in (2, 4):
        array = array[:, :, :-1]
    if array.ndim != 3 or array.shape[2] not in (1, 3) or array.size == 0:
        raise ConfigError(
            f"picture '{picture}' has shape {array.shape} (one grey or colour image is expected, "
            "(height, width) or (height, width, channel)); give a single image"
        )
    if array.dtype.kind == "c" or array.dtype.kind not in "buif":
        raise ConfigError(
            f"picture '{picture}' has values of type {array.dtype} (real numbers are expected); "
            "convert it to 8 or 16 bit, or to floats in [0, 1]"
        )
    floats: Array = array
    if array.dtype.kind != "f":
        floats = img_as_float32(array)  # type: ignore[no-untyped-call]
    floats = floats.astype(np.float32)
    # A NaN compares false with everything, so the test is written to fail for it.
    if not (floats.min() >= 0.0 and floats.max() <= 1.0):
        raise ConfigError(
            f"picture '{picture}' has values from {floats.min():g} to {floats.max():g} (they must "
            "lie in [0, 1] so that PSNR's peak is 1); scale it first"
        )
    return floats


def _largest_like(shape: tuple[int, ...], height: int, width: int) -> tuple[int, int]:
    """Largest part of a picture of ``shape`` that has the proportions of ``height`` x ``width``."""
    scale = min(shape[0] / height, shape[1] / width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def _central_part(array: Array, height: int, width: int) -> Array:
    top, left = (array.shape[0] - height) // 2, (array.shape[1] - width) // 2
    return array[top : top + height, left : left + width]
