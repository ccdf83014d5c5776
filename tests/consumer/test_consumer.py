"""What a C++ user does: install, find_package, build outside the source tree, run."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build" / "release"
ITERATIONS = 12
WARMUP = 2


def run(*command: object, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation of the release tree."""
    assert (RELEASE / "CMakeCache.txt").exists(), "build/release is missing; run `make build` first"
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--build", RELEASE, cwd=folder)
    run("cmake", "--install", RELEASE, "--component", "cpp", "--prefix", folder, cwd=folder)
    return folder


def configure(example: Path, build: Path, prefix: Path, *options: str) -> str:
    return run(
        "cmake", "-G", "Ninja", "-S", example, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_BUILD_TYPE=Release", *options, cwd=build.parent,
    )  # fmt: skip


def build_example(name: str, prefix: Path, folder: Path, *options: str) -> Path:
    """The program of examples/<name>, built from a copy that cannot see the source tree."""
    source = folder / "source"
    shutil.copytree(ROOT / "examples" / name, source)
    configure(source, folder / "build", prefix, *options)
    run("cmake", "--build", folder / "build", cwd=folder)
    return folder / "build" / name


def python_is_linked(program: Path) -> bool:
    return "libpython" in run("ldd", program, cwd=program.parent)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def values(output: str) -> dict[str, float]:
    """The lines `name number` of an example's output."""
    pairs = [line.split(" ") for line in output.splitlines()]
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}


def clean_environment() -> dict[str, str]:
    """Nothing in it that would help a program to find torch."""
    return {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}


def check_files(folder: Path, name: str, regions: list[str]) -> None:
    info = json.loads((folder / "outputs" / f"{name}_run.json").read_text(encoding="utf-8"))
    assert info["state"] == "finished"
    assert info["rows"] == ITERATIONS - WARMUP
    table = rows(folder / "outputs" / f"{name}_gpu_metrics.csv")
    assert [row["iter"] for row in table] == [str(i) for i in range(WARMUP, ITERATIONS)]
    for row in table:
        inside = sum(float(row[f"{region}_time_sec"]) for region in regions)
        assert 0 < inside <= float(row["total_time_sec"])


@pytest.fixture(scope="module")
def pnp_program(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pnp")
    return build_example("pnp", prefix, folder, f"-DPython_EXECUTABLE={sys.executable}")


def test_torch_free_solver(prefix: Path, tmp_path: Path) -> None:
    # An interpreter without torch stands in for a machine that has none.
    program = build_example("landweber", prefix, tmp_path, "-DITERSCOPE_TORCH_ROOT=/nowhere")
    linked = run("ldd", program, cwd=tmp_path)
    assert "torch" not in linked
    assert "c10" not in linked
    assert not python_is_linked(program)

    output = run(program, ITERATIONS, cwd=tmp_path, env=clean_environment())
    check_files(tmp_path, "landweber", ["residual", "update"])
    first = values(output)
    longer = values(run(program, 10 * ITERATIONS, cwd=tmp_path, env=clean_environment()))
    assert longer["residual"] < first["residual"]
    assert longer["error"] < first["error"]
    # The second run of the same name has files of its own.
    assert (
        len(rows(tmp_path / "outputs" / "landweber-2_gpu_metrics.csv")) == 10 * ITERATIONS - WARMUP
    )


def test_pnp_on_libtorch(pnp_program: Path, tmp_path: Path) -> None:
    assert not python_is_linked(pnp_program)
    output = values(run(pnp_program, "cpu", ITERATIONS, cwd=tmp_path, env=clean_environment()))
    check_files(tmp_path, "pnp", ["gradient", "denoise"])
    assert output["psnr_end"] > output["psnr_start"] + 3


def test_bad_device_is_one_clear_line(pnp_program: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [pnp_program, "toaster"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "toaster" in done.stderr
    assert not (tmp_path / "outputs").exists()


def test_missing_torch_says_what_to_do(prefix: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", ROOT / "examples" / "pnp", "-B", tmp_path / "build",
         f"-DCMAKE_PREFIX_PATH={prefix}", "-DITERSCOPE_TORCH_ROOT=/nowhere"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    message = " ".join(done.stderr.split())
    assert "torch was not found" in message
    assert "-DITERSCOPE_TORCH_ROOT=" in message


def test_other_torch_version_is_refused(prefix: Path, tmp_path: Path) -> None:
    torch = tmp_path / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "include" / "ATen").mkdir(parents=True)
    (torch / "lib" / "libtorch_cpu.so").touch()
    (torch / "lib" / "libc10.so").touch()
    (torch / "include" / "ATen" / "ATen.h").touch()
    (torch / "version.py").write_text("__version__ = '2.99.0+cpu'\n", encoding="utf-8")
    done = subprocess.run(
        ["cmake", "-G", "Ninja", "-S", ROOT / "examples" / "pnp", "-B", tmp_path / "build",
         f"-DCMAKE_PREFIX_PATH={prefix}", f"-DITERSCOPE_TORCH_ROOT={torch}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    message = " ".join(done.stderr.split())
    assert "torch 2.99.0 was found, but iterscope was built against" in message
