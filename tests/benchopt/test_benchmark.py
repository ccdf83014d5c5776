"""The benchmark as BenchOpt sees it: its own checks, its configurations, its errors."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "benchmark_inference" / "configs"
RUN_CONFIGS = sorted(set(CONFIGS.glob("*.yml")) - {CONFIGS / "config_parallel.yml"})


def test_benchopts_own_checks_pass(workplace):
    done = workplace.benchopt("test", "benchmark_inference", "--skip-install")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " failed" not in done.stdout


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("multiframe_superres[picture=astronut]", "choose one of astronaut, brick"),
        ("multiframe_superres[picture=no.png]", "there is no file no.png"),
        ("multiframe_superres[image_size=0]", "is not a size"),
        ("simulated[task=deblurring]", "use denoising or superres"),
        ("simulated[task=superres,dimension=3]", "use dimension 2"),
        ("simulated[dimension=4]", "two or three sides"),
    ],
)
def test_wrong_data_is_one_clear_error(workplace, monkeypatch, dataset, message):
    """In this process, as each new one would cost seconds."""
    from benchopt.benchmark import Benchmark

    from iterscope import ConfigError

    monkeypatch.chdir(workplace.folder)
    benchmark = Benchmark("benchmark_inference", no_cache=True)
    ((found, parameters),) = benchmark.check_dataset_patterns([dataset])
    chosen = {
        key: value[0] if isinstance(value, list) else value for key, value in parameters.items()
    }
    with pytest.raises(ConfigError, match=message):
        found.get_instance(**chosen).get_data()


def test_wrong_solver_parameters_reach_the_user(workplace):
    config = {"max-runs": 1, "dataset": ["simulated"], "solver": ["PnP[profiler_mode=fast]"]}
    run = workplace.run(config, "-s", "PnP[profiler_mode=fast]", fail_fast=False)
    assert run.code != 0
    assert "ConfigError" in run.text
    assert "fast" in run.text
    assert not run.infos


def pnp_solver(benchmark, **parameters):
    (found,) = (kind for kind in benchmark.get_solvers() if kind.name == "PnP")
    return found.get_instance(**parameters)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"name_prefix": 5}, r"name_prefix is 5 \(the parameter takes a text\)"),
        ({"name_prefix": None}, "name_prefix is None"),
        ({"step_size": "abc"}, r"step_size is 'abc' \(the parameter takes a number or null\)"),
        ({"step_size_scale": True}, r"step_size_scale is True \(the parameter takes a number\)"),
        ({"denoiser": 1}, "denoiser is 1"),
        ({"max_batch_size": 1.5}, "max_batch_size is 1.5"),
        ({"patch_size": [8, "x"]}, "patch_size is .* takes an integer or a list of them"),
        ({"image_size": {"a": 1}}, "image_size is .* list of them or null"),
        ({"distribute_physics": "no"}, "distribute_physics is 'no' .* true or false"),
        ({"profiler_warmup": "2"}, "profiler_warmup is '2'"),
        ({"profiler_mode": 3}, "profiler_mode is 3"),
        ({"slurm_nodes": 2}, "slurm_nodes is 2 .*one rank in this version.*; set it to 1"),
        ({"slurm_ntasks_per_node": 4}, "slurm_ntasks_per_node is 4"),
        ({"torchrun_nproc_per_node": 0}, "torchrun_nproc_per_node is 0"),
        # The error alone: a profiler would first warn that there is no memory to measure.
        ({"device": "mtia"}, "there is no device 'mtia'"),
        ({"device": "meta"}, "unknown device 'meta'"),
        ({"device": 5}, "device is 5"),
    ],
    ids=str,
)
def test_wrong_solver_parameters_are_one_clear_error(parameters, message):
    from benchopt.benchmark import Benchmark

    from iterscope import ConfigError

    benchmark = Benchmark(ROOT / "benchmark_inference", no_cache=True)
    with pytest.raises(ConfigError, match=message):
        pnp_solver(benchmark, **parameters).run(lambda: False)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"step_size": 1, "denoiser_sigma": 0, "image_size": [16, 16], "patch_size": (8, 8)},
        {"slurm_gres": None, "device": "cpu", "profiler_mode": None, "compile": None},
    ],
    ids=str,
)
def test_what_parameters_may_be(parameters):
    from benchopt.benchmark import Benchmark

    benchmark = Benchmark(ROOT / "benchmark_inference", no_cache=True)
    pnp_solver(benchmark, **parameters).check_parameters()


def seconds(text):
    hours, minutes, rest = map(int, text.split(":"))
    return 3600 * hours + 60 * minutes + rest


def test_a_cluster_job_outlives_benchopts_timeout():
    parallel = (CONFIGS / "config_parallel.yml").read_text(encoding="utf-8")
    limit = seconds(yaml.safe_load(parallel)["slurm_time"])
    assert RUN_CONFIGS
    for path in RUN_CONFIGS:
        assert limit > yaml.safe_load(path.read_text(encoding="utf-8"))["timeout"], path
    assert "Slurm's limit wins" in parallel


def test_the_parallel_configuration_makes_a_batch_script(workplace, monkeypatch):
    submitit = pytest.importorskip("submitit", reason="submitit is not installed")
    from benchopt.benchmark import Benchmark
    from benchopt.parallel_backends import check_parallel_config, slurm_executor
    from submitit.slurm import slurm

    monkeypatch.chdir(workplace.folder)
    monkeypatch.setattr(submitit.SlurmExecutor, "affinity", classmethod(lambda cls: 2))
    config = check_parallel_config(str(CONFIGS / "config_parallel.yml"), None)
    assert config.pop("backend") == "submitit"
    (solver_class,) = Benchmark("benchmark_inference").get_solvers()
    scripts = []
    for gres in (None, "gpu:2"):
        solver = solver_class.get_instance(slurm_gres=gres, slurm_nodes=2)
        merged = slurm_executor.get_solver_slurm_config(solver, config)
        executor = submitit.AutoExecutor(workplace.folder / "logs", cluster="slurm")
        executor.update_parameters(**merged)
        scripts.append(
            slurm._make_sbatch_string("command", workplace.folder, **executor._executor.parameters)
        )
    for script in scripts:
        assert "#SBATCH --time=00:30:00" in script
        assert "#SBATCH --nodes=2" in script
        assert "#SBATCH --hint=nomultithread" in script
    assert "gres" not in scripts[0]
    assert "#SBATCH --gres=gpu:2" in scripts[1]


def test_the_demo_shows_a_table_and_its_files(workplace):
    """The demo on a small picture, twice: nothing is overwritten."""
    shutil.copytree(ROOT / "scripts", workplace.folder / "scripts")
    config = yaml.safe_load((CONFIGS / "example.yml").read_text(encoding="utf-8"))
    config["max-runs"] = 6
    config["dataset"][0]["multiframe_superres"]["image_size"] = 64
    (workplace.folder / "small.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [sys.executable, "scripts/demo.py", "--config", "small.yml"]
    texts = [
        subprocess.run(
            command, cwd=workplace.folder, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    for text, number in zip(texts, ("", "-2"), strict=True):
        lines = text.splitlines()
        table = {line.split("  ")[0]: line for line in lines if line.count("  ") > 3}
        assert {"gradient", "denoise", "(untracked rest)", "iteration"} <= table.keys()
        assert "profiler's own time" in text
        assert "PSNR" in text
        assert "SSIM" in text
        named = [line.split()[-1] for line in lines[-4:]]
        assert all((workplace.folder / name).is_file() for name in named), named
        assert named[2] == f"outputs/demo{number}.parquet"
    assert len(list((workplace.folder / "outputs").glob("*.png"))) == 2
