"""BenchOpt's rows against the profiler's CSV: the same numbers, in the same iterations."""

import csv
import io
import math

import pytest

METRICS = [
    "total_time_sec",
    "max_gpu_mb",
    "gradient_time_sec",
    "gradient_max_gpu_mb",
    "denoise_time_sec",
    "denoise_max_gpu_mb",
]
COLUMNS = [f"objective_{name}" for name in METRICS]


def runs_of(grid_run, mode):
    """Rows of each run of a mode, by run name."""
    column = grid_run.rows["p_solver_profiler_mode"]
    rows = grid_run.rows[column.isna() if mode is None else column == mode]
    return dict(list(rows.groupby("objective_run_name")))


def test_the_grid_has_all_runs_under_different_names(grid_run):
    assert len(runs_of(grid_run, None)) == 4
    assert len(runs_of(grid_run, "custom")) == 4
    assert grid_run.rows["objective_run_name"].nunique() == 8
    assert grid_run.rows["objective_run_name"].notna().all()
    for rows in (*runs_of(grid_run, None).values(), *runs_of(grid_run, "custom").values()):
        assert rows["stop_val"].tolist() == list(range(21))


def test_rows_hold_exactly_the_rows_of_the_csv(grid_run):
    for name, rows in runs_of(grid_run, "custom").items():
        table = list(csv.DictReader(io.StringIO(grid_run.csv_text(name))))
        assert [int(row["iter"]) for row in table] == list(range(2, 12))
        recorded = rows.dropna(subset=["objective_total_time_sec"])
        # stop_val counts iterations done, iter counts from 0.
        assert recorded["stop_val"].tolist() == [int(row["iter"]) + 1 for row in table]
        for metric in METRICS:
            assert recorded[f"objective_{metric}"].tolist() == [float(row[metric]) for row in table]


def test_no_row_outside_the_window_carries_a_metric(grid_run):
    for rows in runs_of(grid_run, "custom").values():
        outside = rows[(rows["stop_val"] < 3) | (rows["stop_val"] > 12)]
        assert len(outside) == 11
        assert outside[COLUMNS].isna().all(axis=None)


def test_without_a_mode_there_are_rows_and_no_files(grid_run):
    for name, rows in runs_of(grid_run, None).items():
        assert rows[COLUMNS].isna().all(axis=None)
        assert rows["objective_psnr"].notna().all()
        assert name not in grid_run.infos


def test_times_of_an_iteration_are_plausible(grid_run):
    rows = grid_run.rows.dropna(subset=["objective_total_time_sec"])
    assert (rows["objective_gradient_time_sec"] > 0).all()
    assert (rows["objective_denoise_time_sec"] > 0).all()
    regions = rows["objective_gradient_time_sec"] + rows["objective_denoise_time_sec"]
    # The evaluation is in the iteration and in no region.
    assert (regions < rows["objective_total_time_sec"]).all()


def test_profiling_does_not_change_the_images(grid_run):
    keys = ["dataset_name", "p_solver_denoiser_sigma", "stop_val"]
    quality = ["objective_psnr", "objective_ssim", "objective_mse", "objective_value"]
    plain = grid_run.rows[grid_run.rows["p_solver_profiler_mode"].isna()].set_index(keys)[quality]
    profiled = grid_run.rows[grid_run.rows["p_solver_profiler_mode"] == "custom"]
    profiled = profiled.set_index(keys)[quality].loc[plain.index]
    assert (plain == profiled).all(axis=None)
    assert (plain["objective_value"] == plain["objective_mse"]).all()


def test_every_image_of_a_batch_has_its_own_quality(grid_run):
    volumes = grid_run.rows[grid_run.rows["p_dataset_dimension"] == 3]
    images = grid_run.rows[grid_run.rows["p_dataset_dimension"] == 2]
    assert images["objective_psnr_0"].isna().all()
    for metric in ("psnr", "ssim", "mse"):
        parts = volumes[[f"objective_{metric}_0", f"objective_{metric}_1"]]
        assert (parts.iloc[:, 0] != parts.iloc[:, 1]).all()
        mean = volumes[f"objective_{metric}"]
        assert mean.to_numpy() == pytest.approx(parts.mean(axis=1).to_numpy(), rel=1e-12)
    expected = [10 * math.log10(1 / mse) for mse in volumes["objective_mse_1"]]
    assert volumes["objective_psnr_1"].to_numpy() == pytest.approx(expected, rel=1e-6)


def test_metrics_are_plain_numbers(grid_run):
    for column in [
        *COLUMNS,
        "objective_psnr",
        "objective_ssim",
        "objective_mse",
        "objective_value",
    ]:
        assert grid_run.rows[column].dtype == "float64", column


def test_run_json_names_solver_and_dataset_parameters(grid_run):
    assert len(grid_run.infos) == 4
    for name in runs_of(grid_run, "custom"):
        info = grid_run.infos[name]
        rows = grid_run.rows[grid_run.rows["objective_run_name"] == name]
        parameters = info["parameters"]
        assert parameters["solver.name"] == "PnP"
        assert parameters["dataset.name"] == "simulated"
        for kind, prefix in (("solver", "p_solver_"), ("dataset", "p_dataset_")):
            for column in [column for column in rows if column.startswith(prefix)]:
                value = rows[column].iloc[0]
                recorded = parameters[f"{kind}.{column.removeprefix(prefix)}"]
                if value is None or value != value:  # pandas has NaN for None among numbers
                    assert recorded is None, (column, recorded)
                else:
                    assert recorded == value, column
        assert parameters["solver.profiler_mode"] == "custom"
        assert (info["state"], info["iterations"], info["rows"]) == ("finished", 20, 10)
        assert info["name"] == info["run_name"] == name


def test_names_tell_what_differs(grid_run):
    assert "pnp_simulated_dimension=3_image_size=12_batch_size=2_denoiser_sigma=0.01" in "\n".join(
        runs_of(grid_run, "custom")
    )
    names = set(grid_run.rows["solver_name"])
    assert len(names) == 4
    assert all("patch_size" not in name for name in names)
