"""Make a thin environment on top of a complete one, in a second and a few kilobytes.

The overlay is a virtual environment of its own that sees the base's packages through a .pth file
and has the base's commands, running under the overlay's interpreter. What is installed into the
overlay (iterscope) leaves the base as it was, so one base serves many clones.

usage: python scripts/make_overlay.py BASE OVERLAY
"""

from __future__ import annotations

import os
import shutil
import sys
import venv
from pathlib import Path


def site_packages(environment: Path) -> Path:
    """The site-packages folder of a virtual environment."""
    found = sorted(environment.glob("lib/python3.*/site-packages"))
    if len(found) != 1:
        raise SystemExit(
            f"{environment} is no virtual environment (no single lib/python3.*/site-packages); "
            "give the folder that `python -m venv` made."
        )
    return found[0]


def is_interpreter(name: str) -> bool:
    """Whether a file of bin/ belongs to the interpreter itself or activates an environment."""
    return name.startswith(("python", "activate", "Activate", "pip"))


def copy_command(command: Path, base: Path, overlay: Path) -> None:
    """Re-create one command: a script with the overlay's interpreter, anything else as a link."""
    target = overlay / "bin" / command.name
    head, separator, body = command.read_bytes().partition(b"\n")
    interpreter = os.fsencode(base / "bin") + b"/python"
    if head.startswith(b"#!") and interpreter in head:
        head = head.replace(os.fsencode(base / "bin"), os.fsencode(overlay / "bin"))
        target.write_bytes(head + separator + body)
        target.chmod(command.stat().st_mode)
    else:
        target.symlink_to(command)


def main() -> None:
    """Make the overlay, replacing one that is there."""
    base, overlay = (Path(argument).absolute() for argument in sys.argv[1:3])
    packages = site_packages(base)
    shutil.rmtree(overlay, ignore_errors=True)
    venv.EnvBuilder(symlinks=True, with_pip=False).create(overlay)
    here, there = site_packages(overlay).parent.name, packages.parent.name
    if here != there:
        raise SystemExit(
            f"{base} was made for {there} (this is {here}); run this script with {base}/bin/python."
        )
    # addsitedir, not a plain path: it also reads the .pth files of the base.
    (site_packages(overlay) / "base.pth").write_text(
        f"import site; site.addsitedir({str(packages)!r})\n", encoding="utf-8"
    )
    for command in sorted((base / "bin").iterdir()):
        if not is_interpreter(command.name):
            copy_command(command, base, overlay)


if __name__ == "__main__":
    main()
