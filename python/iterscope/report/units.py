"""Numbers for people: three significant digits with the unit that fits."""

from __future__ import annotations

import math

_UNITS_OF_TIME = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
NOTHING = "-"


def format_seconds(seconds: float | None) -> str:
    """Write a time: ``12.3 ms``, ``1.20 s``, ``345 us``; ``-`` for ``None``."""
    if seconds is None:
        return NOTHING
    if not math.isfinite(seconds):
        return str(seconds)
    if seconds == 0:
        return "0 s"
    # 999.6 us must not become "1000 us": the unit is chosen after rounding.
    rounded = float(f"{abs(seconds):.2e}")
    scale, unit = next(
        ((scale, unit) for scale, unit in _UNITS_OF_TIME if rounded >= scale), _UNITS_OF_TIME[-1]
    )
    return f"{seconds / scale:.{_decimals(rounded / scale)}f} {unit}"


def format_mebibytes(mebibytes: float | None) -> str:
    """Write a memory size given in MiB: ``12.5 MiB``, ``1.50 GiB``; ``-`` for ``None``."""
    if mebibytes is None:
        return NOTHING
    if not math.isfinite(mebibytes):
        return str(mebibytes)
    if mebibytes >= 1024:
        return f"{mebibytes / 1024:.{_decimals(mebibytes / 1024)}f} GiB"
    return f"{mebibytes:.{_decimals(mebibytes)}f} MiB" if mebibytes else "0 MiB"


def format_share(share: float | None) -> str:
    """Write a fraction as per cent: ``35.2 %``; ``-`` for ``None``."""
    return NOTHING if share is None else f"{100 * share:.1f} %"


def _decimals(value: float) -> int:
    """Return how many decimals leave three significant digits, between 0 and 9."""
    magnitude = math.floor(math.log10(value)) if value > 0 else 0
    return min(max(2 - magnitude, 0), 9)
