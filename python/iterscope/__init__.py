"""One profiling interface for iterative imaging solvers."""

from __future__ import annotations

from iterscope import _decorate, _launch, _torch_check  # noqa: F401 - the extension calls them

_torch_check.require_matching_torch()

from iterscope._iterscope import (  # noqa: E402 - only loads against the PyTorch it was built with
    ConfigError,
    DeviceError,
    Error,
    IoError,
    IterscopeWarning,
    Profiler,
    Region,
    UsageError,
    __version__,
)
from iterscope._profiler import create_profiler  # noqa: E402

__all__ = [
    "ConfigError",
    "DeviceError",
    "Error",
    "IoError",
    "IterscopeWarning",
    "Profiler",
    "Region",
    "UsageError",
    "__version__",
    "create_profiler",
]
