"""Real BenchOpt runs of a copy of the benchmark, so that the repository stays as it is."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]

benchopt = pytest.importorskip("benchopt", reason="BenchOpt is not installed")


@dataclass
class BenchoptRun:
    """Outcome of one `benchopt run`: its rows, and the folder that it ran in."""

    folder: Path
    code: int
    text: str
    rows: object = None
    infos: dict = field(default_factory=dict)

    def csv_text(self, run_name):
        return (self.folder / "outputs" / f"{run_name}_gpu_metrics.csv").read_text("utf-8")


@dataclass
class Workplace:
    """A folder with a copy of the benchmark, to run BenchOpt in."""

    folder: Path

    @property
    def benchmark(self):
        return self.folder / "benchmark_inference"

    def run(self, config, *options, cache=False, fail_fast=True):
        """Run `benchopt run` with a configuration (a dict) as a user would, in a new process."""
        from benchopt.results import read_results

        place = self.folder
        number = len(list(place.glob("config*.yml")))
        path = place / f"config{number}.yml"
        path.write_text(yaml.safe_dump(config), encoding="utf-8")
        results = place / f"results{number}.parquet"
        command = ["run", "benchmark_inference", "--config", path.name, "--no-plot"]
        command += [] if cache else ["--no-cache"]
        done = self.benchopt(*command, "--output", str(results), *options, fail_fast=fail_fast)
        run = BenchoptRun(place, done.returncode, done.stdout + done.stderr)
        if results.exists():
            run.rows = read_results(results)
        for info in (place / "outputs").glob("*_run.json"):
            run.infos[info.name.removesuffix("_run.json")] = json.loads(info.read_text("utf-8"))
        return run

    def benchopt(self, *arguments, fail_fast=True):
        # `benchopt test` calls "python", whichever that is.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = os.environ | {
            "PATH": path,
            "BENCHOPT_RAISE_ON_ERROR": "1" if fail_fast else "0",
        }
        return subprocess.run(
            [sys.executable, "-m", "benchopt", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def make_workplace(tmp_path_factory):
    def make(name):
        folder = tmp_path_factory.mktemp(name)
        shutil.copytree(
            ROOT / "benchmark_inference",
            folder / "benchmark_inference",
            ignore=shutil.ignore_patterns("__pycache__", "__cache__", "outputs"),
        )
        return Workplace(folder)

    return make


@pytest.fixture
def workplace(make_workplace):
    return make_workplace("run")


@pytest.fixture(scope="session")
def grid_run(make_workplace):
    """Two datasets by two modes by two denoiser strengths, 20 iterations each, for many tests."""
    workplace = make_workplace("grid")
    config = {
        "max-runs": 20,
        "timeout": 300,
        "dataset": [
            {"simulated": {"task": ["superres"], "image_size": 32, "channels": 3}},
            {"simulated": {"dimension": 3, "image_size": 12, "batch_size": 2}},
        ],
        "solver": [
            {
                "PnP": {
                    "profiler_mode": [None, "custom"],
                    "denoiser_sigma": [0.01, 0.02],
                    "profiler_warmup": 2,
                    "profiler_active": 10,
                    "profiler_save_file": True,
                    "slurm_gres": None,
                }
            }
        ],
    }
    run = workplace.run(config)
    assert run.code == 0, run.text
    return run
