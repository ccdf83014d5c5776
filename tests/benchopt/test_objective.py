"""The objective and the datasets by themselves, loaded as BenchOpt loads them."""

import json
import math
from pathlib import Path

import pytest
import torch
from benchopt.benchmark import Benchmark

from iterscope.benchopt import Description, evaluation_row, run_name
from iterscope.image_metrics import ImageQuality

ROOT = Path(__file__).resolve().parents[2]
GOOD = ImageQuality(psnr=20.0, ssim=0.5, mse=0.01)
PERFECT = ImageQuality(psnr=math.inf, ssim=1.0, mse=0.0)


@pytest.fixture(scope="module")
def benchmark():
    return Benchmark(ROOT / "benchmark_inference", no_cache=True)


def dataset(benchmark, name, **parameters):
    (found,) = (kind for kind in benchmark.get_datasets() if kind.name == name)
    return found.get_instance(**parameters)


def test_before_any_iteration_there_is_a_row_without_metrics(benchmark):
    objective = benchmark.get_benchmark_objective().get_instance()
    data = dataset(benchmark, "simulated", image_size=16).get_data()
    objective.set_data(**data)
    (row,) = objective(
        {"reconstruction": data["ground_truth"] + 0.1, "metrics": {}, "run_name": "pnp"}
    )
    assert row.keys() == {
        f"objective_{key}" for key in ("value", "psnr", "ssim", "mse", "run_name")
    }
    assert row["objective_psnr"] == pytest.approx(20.0, abs=1e-4)
    assert row["objective_value"] == row["objective_mse"] == pytest.approx(0.01)
    assert row["objective_run_name"] == "pnp"


def test_metrics_are_forwarded_as_they_are():
    metrics = {"total_time_sec": 0.1 + 0.2, 'a,b "q"\nz_time_sec': 5e-324}
    row = evaluation_row([GOOD], metrics, "name")
    assert {key: row[key] for key in metrics} == metrics
    assert json.loads(json.dumps(row)) == row
    assert all(type(value) in (float, str) for value in row.values())


def test_a_perfect_image_stays_visible_in_a_batch():
    row = evaluation_row([PERFECT, GOOD], {}, "name")
    assert (row["psnr"], row["psnr_0"], row["psnr_1"]) == (math.inf, math.inf, 20.0)
    assert row["mse"] == 0.005
    assert (row["ssim_0"], row["ssim_1"]) == (1.0, 0.5)


def test_images_are_kept_only_when_asked(benchmark):
    kind = benchmark.get_benchmark_objective()
    data = dataset(benchmark, "simulated", image_size=16).get_data()
    truth = data["ground_truth"]
    result = {"reconstruction": truth, "metrics": {}, "run_name": "pnp", "start": truth * 0}
    for save_images in (False, True):
        objective = kind.get_instance(save_images=save_images)
        objective.set_data(**data)
        assert objective.get_objective()["keep_start"] == save_images
        kept = objective.save_final_results(**result)
        if not save_images:
            assert kept is None
            continue
        assert {name: image.shape for name, image in kept.items()} == dict.fromkeys(
            ("truth", "measurement", "start", "reconstruction"), (1, 1, 16, 16)
        )
        assert str(objective) == "reconstruction_objective[save_images=True]"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("multiframe_superres", {"image_size": 33, "num_operators": 3}),
        ("multiframe_superres", {"image_size": None, "picture": "chelsea"}),
        ("simulated", {"image_size": 16, "dimension": 3, "channels": 2}),
        ("simulated", {"image_size": 16, "task": "superres", "factor": 4}),
    ],
)
def test_data_follow_from_the_seed(benchmark, name, parameters):
    def get(seed):
        return dataset(benchmark, name, seed=seed, **parameters).get_data()

    before = torch.random.get_rng_state()
    once, again, other = get(0), get(0), get(1)
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.equal(once["ground_truth"], again["ground_truth"])
    for one, same, different in zip(
        once["measurements"], again["measurements"], other["measurements"], strict=True
    ):
        assert torch.equal(one, same)
        assert not torch.equal(one, different)
    clean = once["physics"].forward(once["ground_truth"])
    level = once["dataset"].values["noise_level"]
    noise = torch.cat([(y - c).flatten() for y, c in zip(once["measurements"], clean, strict=True)])
    assert float(noise.std()) == pytest.approx(level, rel=0.1)
    truth = once["ground_truth"]
    assert truth.dtype == torch.float32
    assert 0.0 <= truth.min() < truth.max() <= 1.0


def test_images_of_a_batch_differ(benchmark):
    truth = dataset(benchmark, "simulated", batch_size=2, image_size=16).get_data()["ground_truth"]
    assert not torch.equal(truth[0], truth[1])


def test_run_names_hold_what_differs():
    solver = Description(
        "PnP", {}, {"profiler_mode": "nvidia", "profiler_save_file": True, "name_prefix": "x"}
    )
    data = Description("superres", {}, {"picture": "/home/me/pictures/cat.png", "size": [64, 96]})
    assert run_name("x", solver, data) == "x_superres_picture=cat.png_size=64x96_mode=nvidia"
