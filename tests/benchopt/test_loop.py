"""Solvers that return early, fail or repeat, slow objectives, and the cache."""

import csv
import io

import pytest

SMALL = {"simulated": {"image_size": 16}}

EARLY = """
from benchopt import BaseSolver
from iterscope.benchopt import ProfiledSolver, named_run


class Solver(ProfiledSolver, BaseSolver):
    name = "{name}"
    parameters = {{
        "name_prefix": ["{name}"],
        "profiler_mode": ["custom"],
        "profiler_warmup": [0],
        "profiler_active": [0],
        "profiler_save_file": [False],
        "profiler_per_step": [True],
        "profiler_repeat": [1],
        "profiler_trace_dir": [None],
    }}

    def set_objective(self, physics, measurements, dataset, keep_start):
        self.image = measurements[0]
        self.dataset = dataset

    def run(self, cb):
        self.profiler = self.make_profiler("cpu", self.dataset)
        with self.profiler:
            self.profiler.start_iterations()
            {loop}

    def get_result(self):
        return {{
            "reconstruction": self.image,
            "metrics": self.profiler.get_current_metrics(),
            "run_name": named_run(self.profiler),
        }}
"""

RETURNS_EARLY = """for _ in range(4):
                assert cb()
                with self.profiler.track_step("work"):
                    self.image = self.image * 0.5
                self.profiler.end_iteration()"""

FAILS = """while cb():
                with self.profiler.track_step("work"):
                    if self.profiler.iteration == 3:
                        raise ValueError("boom")
                self.profiler.end_iteration()"""

SLOW_OBJECTIVE = """
import time


class Objective(Objective):
    def evaluate_result(self, **result):
        time.sleep(0.2)
        return super().evaluate_result(**result)
"""


def add_solver(workplace, name, loop):
    path = workplace.benchmark / "solvers" / f"{name}.py"
    path.write_text(EARLY.format(name=name, loop=loop), encoding="utf-8")


def csv_rows(run, name):
    return list(csv.DictReader(io.StringIO(run.csv_text(name))))


@pytest.fixture(scope="module")
def odd_run(make_workplace):
    """Solvers that return early and fail, repeated twice, under an objective that is slow."""
    workplace = make_workplace("odd")
    add_solver(workplace, "early", RETURNS_EARLY)
    add_solver(workplace, "failing", FAILS)
    with open(workplace.benchmark / "objective.py", "a", encoding="utf-8") as file:
        file.write(SLOW_OBJECTIVE)
    saving = {"profiler_save_file": True, "profiler_active": 10}
    config = {
        "max-runs": 6,
        "n-repetitions": 2,
        "dataset": [SMALL],
        "solver": [{"early": saving}, {"failing": saving}, {"PnP": saving}],
    }
    return workplace.run(config, fail_fast=False)


def test_a_solver_that_returns_early_ends_normally(odd_run):
    assert odd_run.code == 0, odd_run.text
    rows = odd_run.rows[odd_run.rows["p_solver_name_prefix"] == "early"]
    assert sorted(rows["stop_val"].tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]
    first = "early_simulated_image_size=16_active=10"
    for name in (first, f"{first}-2"):
        assert len(csv_rows(odd_run, name)) == 4
        info = odd_run.infos[name]
        assert (info["state"], info["rows"], info["iterations"]) == ("finished", 4, 4)


def test_a_solver_that_fails_keeps_its_finished_rows(odd_run):
    names = [name for name in odd_run.infos if name.startswith("failing")]
    assert len(names) == 2
    for name in names:
        assert len(csv_rows(odd_run, name)) == 3
        assert odd_run.infos[name]["state"] == "failed"
        assert "boom" in odd_run.infos[name]["error"]
    assert "ValueError: boom" in odd_run.text


def test_repetitions_have_files_of_their_own(odd_run):
    name = "pnp_simulated_image_size=16_active=10"
    rows = odd_run.rows[odd_run.rows["p_solver_name_prefix"] == "pnp"]
    assert set(rows["objective_run_name"]) == {name, f"{name}-2"}
    assert {name, f"{name}-2"} <= odd_run.infos.keys()
    for stem, part in rows.groupby("objective_run_name"):
        recorded = part.dropna(subset=["objective_total_time_sec"])
        table = csv_rows(odd_run, stem)
        assert recorded["objective_total_time_sec"].tolist() == [
            float(row["total_time_sec"]) for row in table
        ]
        assert len(table) == 6


def test_a_slow_evaluation_is_in_the_iteration_and_in_no_region(odd_run):
    rows = odd_run.rows[odd_run.rows["p_solver_name_prefix"] == "pnp"]
    rows = rows.dropna(subset=["objective_total_time_sec"])
    assert (rows["objective_total_time_sec"] >= 0.2).all()
    regions = rows["objective_gradient_time_sec"] + rows["objective_denoise_time_sec"]
    assert (rows["objective_total_time_sec"] - regions >= 0.2).all()
    # BenchOpt's own clock excludes evaluations: 6 of them would be 1.2 s.
    assert regions.groupby(rows["objective_run_name"]).sum().max() <= rows["time"].max()


def test_cached_rows_write_no_files(workplace):
    config = {
        "max-runs": 2,
        "dataset": [SMALL],
        "solver": [{"PnP": {"profiler_save_file": True}}],
    }
    first = workplace.run(config, cache=True)
    assert first.code == 0, first.text
    second = workplace.run(config, cache=True)
    assert second.code == 0, second.text
    assert list(second.infos) == list(first.infos) == ["pnp_simulated_image_size=16"]
    columns = ["objective_run_name", "objective_total_time_sec", "objective_psnr"]
    assert second.rows[columns].equals(first.rows[columns])
