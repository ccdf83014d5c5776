"""Regions as decorators."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from iterscope._iterscope import Region

P = ParamSpec("P")
R = TypeVar("R")


def _runs_after_the_call(function: object) -> str | None:
    """The kind of a callable whose body runs after the call has returned."""
    target = function
    while isinstance(target, functools.partial):
        target = target.func
    for candidate in (target, getattr(target, "__call__", None)):  # noqa: B004 - the method itself
        if inspect.isasyncgenfunction(candidate) or inspect.isgeneratorfunction(candidate):
            return "a generator"
        if inspect.iscoroutinefunction(candidate):
            return "a coroutine"
    return None


def decorate(region: Region, function: Callable[P, R]) -> Callable[P, R]:
    """Wrap `function` so that each call runs inside `region`.

    Raises TypeError for generators and coroutines: their bodies run after the call, between other
    work, where a region that nests cannot be charged with them.
    """
    if not callable(function):
        raise TypeError(
            f"a region decorates a function, not {type(function).__name__} (it cannot be called); "
            "use `with` to measure a block"
        )
    if inspect.isclass(function):
        raise TypeError(
            f"a region cannot decorate the class {function.__name__} (it would no longer be a "
            "class); decorate its methods"
        )
    kind = _runs_after_the_call(function)
    if kind is not None:
        raise TypeError(
            f"a region cannot decorate {kind} (its body runs after the call has returned); "
            "enter the region with `with` inside the body"
        )

    @functools.wraps(function)
    def inside_region(*args: P.args, **kwargs: P.kwargs) -> R:
        with region:
            return function(*args, **kwargs)

    return inside_region
