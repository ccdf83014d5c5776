"""Write constraints.txt from the environment that runs this script: every package, exactly pinned.

usage: python scripts/freeze_constraints.py > constraints.txt

A pin gets a marker where that release needs a newer Python than iterscope does, so that an older
interpreter resolves those few by itself.
"""

from __future__ import annotations

import importlib.metadata
import re

OLDEST_PYTHON = (3, 10)
OURS = {"iterscope", "pip", "setuptools", "wheel"}


def marker(requires_python: str | None) -> str:
    """Environment marker for a release that declares `requires_python`; empty for none."""
    lowest = re.search(r">=\s*3\.(\d+)", requires_python or "")
    if lowest is None or (3, int(lowest[1])) <= OLDEST_PYTHON:
        return ""
    return f' ; python_version >= "3.{lowest[1]}"'


def main() -> None:
    """Print the file."""
    pins = {}
    for found in importlib.metadata.distributions():
        name = found.metadata["Name"]
        if name.lower() not in OURS:
            pins[name.lower()] = (
                f"{name}=={found.version}{marker(found.metadata['Requires-Python'])}"
            )
    print(
        "# Everything that CI's environment holds. Made by scripts/freeze_constraints.py; "
        "see docs/building.md."
    )
    for _, pin in sorted(pins.items()):
        print(pin)


if __name__ == "__main__":
    main()
