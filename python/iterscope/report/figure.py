"""A run as a picture: the images of a reconstruction, and where its iterations' time went."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iterscope.report.nesting import untracked_rest
from iterscope.report.run import ITERATION, TOTAL, Run

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import numpy as np
    from matplotlib.axes import Axes

    Array = np.ndarray[Any, np.dtype[Any]]

# Beyond that many bars an image of this width has no pixel for each: areas are drawn instead.
_MOST_BARS = 300
_LONGEST_LABEL = 40


def save_figure(
    path: str | os.PathLike[str],
    run: Run,
    images: Mapping[str, Array] | None = None,
) -> Path:
    """Draw the time of each recorded iteration by region, stacked, under the given images.

    Regions inside others are part of those and have no layer of their own.
    ``images`` maps titles to arrays of shape (batch, channel, [depth,] height, width) with values
    in [0, 1]; the first of a batch is shown, of a volume its middle slice. The file's format
    follows from its ending; its folder is made if need be. Returns the path.
    """
    from matplotlib.figure import Figure

    shown = images or {}
    figure = Figure(
        figsize=(max(9.0, 3.0 * len(shown)), 6.5 if shown else 3.5), layout="constrained"
    )
    if shown:
        halves = figure.subfigures(2, 1, squeeze=False)
        places = halves[0, 0].subplots(1, len(shown), squeeze=False)[0]
        for axes, (title, image) in zip(places, shown.items(), strict=True):
            _draw_image(axes, title, image)
        _draw_times(halves[1, 0].subplots(), run)
    else:
        _draw_times(figure.subplots(), run)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        # A region's name may hold letters that the font lacks; a box in the legend is enough.
        warnings.filterwarnings("ignore", message="Glyph")
        figure.savefig(target, dpi=120)
    return target


def _draw_image(axes: Axes, title: str, image: Array) -> None:
    first = image[0]
    if first.ndim == 4:
        first = first[:, first.shape[1] // 2]
    clipped = first.clip(0.0, 1.0)
    if clipped.shape[0] == 3:
        axes.imshow(clipped.transpose(1, 2, 0), interpolation="nearest")
    else:
        axes.imshow(clipped[0], cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
    axes.set_title(_label(title), fontsize=9)
    axes.set_axis_off()


def _draw_times(axes: Axes, run: Run) -> None:
    axes.set_xlabel("iteration")
    axes.set_ylabel("time, ms")
    if not run.rows:
        axes.set_title("no iteration has been recorded", fontsize=9)
        return
    names, layers = _layers(run)
    iterations = _iterations(run)
    if len(run.rows) <= _MOST_BARS:
        handles = _stack_bars(axes, iterations, layers)
    else:
        handles = list(axes.stackplot(iterations, layers, colors=_colours(len(layers))))
    # Labels go in with their handles: matplotlib itself would leave out names that begin with _.
    labels = [_label(name) for name in names]
    axes.legend(handles, labels, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    axes.set_title(_label(f"time per iteration, {run.stem}"), fontsize=9)
    axes.margins(x=0.01)


def _layers(run: Run) -> tuple[list[str], list[list[float]]]:
    """Names and times of what adds up to the iterations, the rest last."""
    rest = untracked_rest(run)
    if rest.times is None:  # regions that add up to more would show iterations that never were
        return ["iteration"], [_milliseconds(run.numbers(TOTAL))]
    layers = [_milliseconds(run.times(name)) for name in rest.subtracted]
    return [*rest.subtracted, rest.name], [*layers, _milliseconds(rest.times)]


def _stack_bars(axes: Axes, iterations: Sequence[float], layers: list[list[float]]) -> list[Any]:
    handles = []
    bottom = [0.0] * len(iterations)
    for layer, colour in zip(layers, _colours(len(layers)), strict=True):
        handles.append(axes.bar(iterations, layer, bottom=bottom, color=colour, width=0.9))
        bottom = [low + time for low, time in zip(bottom, layer, strict=True)]
    return handles


def _iterations(run: Run) -> list[float]:
    numbers = run.numbers(ITERATION)
    known = [number for number in numbers if number is not None]
    return known if len(known) == len(numbers) else [float(i) for i in range(len(numbers))]


def _milliseconds(times: Sequence[float | None]) -> list[float]:
    return [1e3 * time if time is not None else 0.0 for time in times]


def _colours(count: int) -> list[Any]:
    from matplotlib import colormaps

    palette = colormaps["tab10" if count <= 11 else "tab20"]
    # The last layer is the rest, in grey.
    return [palette(index % palette.N) for index in range(count - 1)] + ["0.75"]


def _label(text: str) -> str:
    """Keep matplotlib from reading a name as mathematics, hiding it, or breaking the line."""
    flat = " ".join(text.split())
    short = (
        flat
        if len(flat) <= _LONGEST_LABEL * 2
        else f"{flat[:_LONGEST_LABEL]}...{flat[-_LONGEST_LABEL:]}"
    )
    escaped = short.replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped
