"""The profiler object: construction, window, metrics, life cycle."""

from __future__ import annotations

import copy
import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
import weakref
from types import SimpleNamespace

import cloudpickle
import numpy as np
import pytest
import torch

import iterscope

MODES = [None, "custom"]


def iterate(profiler, regions=("a",)):
    for name in regions:
        with profiler.track_step(name):
            pass
    profiler.end_iteration()


# --- construction ---------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "option",
    [
        {"warmup": -1},
        {"active": -1},
        {"repeat": -1},
        {"warmup": 1.0},
        {"warmup": "1"},
        {"active": None},
        {"active": True},
        {"warmup": 2**63},
        {"per_step": "yes"},
        {"save_file": 2},
        {"name": None},
        {"trace_dir": 5},
        {"parameters": [1]},
    ],
    ids=str,
)
def test_bad_options_are_config_errors(mode, option):
    with pytest.raises(iterscope.ConfigError) as caught:
        iterscope.create_profiler(mode, "cpu", **option)
    assert next(iter(option)) in str(caught.value)
    assert ";" in str(caught.value), "the message says what to do"


@pytest.mark.parametrize("mode", ["Custom", "", "nsys", 3, object()], ids=str)
def test_unknown_modes_are_config_errors(mode):
    with pytest.raises(iterscope.ConfigError, match="mode"):
        iterscope.create_profiler(mode, "cpu")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("device", ["gpu", "", "cuda:x", None, "cpu:0:1", "meta", "fpga"])
def test_unknown_devices_are_config_errors(mode, device):
    with pytest.raises(iterscope.ConfigError, match="device"):
        iterscope.create_profiler(mode, device)


def test_errors_are_also_the_builtin_ones():
    assert issubclass(iterscope.ConfigError, ValueError)
    assert issubclass(iterscope.UsageError, RuntimeError)
    assert issubclass(iterscope.IoError, OSError)
    for error in ("ConfigError", "UsageError", "IoError", "DeviceError"):
        assert issubclass(getattr(iterscope, error), iterscope.Error)


def test_options_of_another_mode_warn():
    with pytest.warns(iterscope.IterscopeWarning) as caught:
        iterscope.create_profiler("custom", "cpu", trace_dir="x", per_step=False, repeat=3)
    assert len(caught) == 3


@pytest.mark.parametrize("mode", MODES)
def test_what_users_write_is_accepted(mode):
    iterscope.create_profiler(mode, torch.device("cpu"), "n", np.int64(2), np.int32(3))
    for text in (None, "None"):
        assert iterscope.create_profiler(text, "cpu").mode is None


def test_the_names_of_the_interface():
    profiler = iterscope.create_profiler(
        mode="custom",
        device="cpu",
        name="n",
        warmup=1,
        active=2,
        trace_dir=None,
        per_step=True,
        repeat=1,
        save_file=False,
    )
    with profiler as entered:
        assert entered is profiler
        with profiler.track_step("a") as opened:
            assert opened is None
        profiler.end_iteration(ctx=None)
        profiler.end_iteration(None)
        assert profiler.get_current_metrics()
    profiler.finalize(ctx=object())
    assert (profiler.mode, profiler.name, profiler.device) == ("custom", "n", "cpu")


@pytest.mark.parametrize("call", [lambda p: p.end_iteration(1, 2), lambda p: p.finalize(rank=0)])
def test_wrong_arguments_are_type_errors(call):
    with pytest.raises(TypeError, match="ctx"):
        call(iterscope.create_profiler("custom", "cpu"))


# --- window and metrics ---------------------------------------------------------------------


@pytest.mark.parametrize(("warmup", "active"), [(0, 0), (0, 1), (2, 3), (4, 0), (9, 1), (20, 5)])
def test_metrics_exist_exactly_inside_the_window(warmup, active):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with iterscope.create_profiler("custom", "cpu", warmup=warmup, active=active) as profiler:
            assert profiler.get_current_metrics() == {}
            for i in range(12):
                inside = warmup <= i and (active == 0 or i < warmup + active)
                assert profiler.is_recording == inside
                iterate(profiler)
                assert bool(profiler.get_current_metrics()) == inside


def test_metrics_are_fresh_plain_and_in_one_order():
    with iterscope.create_profiler("custom", "cpu") as profiler:
        iterate(profiler, ("b", "a"))
        first = profiler.get_current_metrics()
        iterate(profiler, ("a", "b"))
        second = profiler.get_current_metrics()
    assert list(first) == [
        "total_time_sec",
        "max_gpu_mb",
        "b_time_sec",
        "b_max_gpu_mb",
        "a_time_sec",
        "a_max_gpu_mb",
    ]
    assert list(second) == list(first)
    assert all(type(value) is float for value in second.values())
    assert json.loads(json.dumps(second)) == second
    assert profiler.get_current_metrics() == second
    assert profiler.get_current_metrics() is not profiler.get_current_metrics()
    second.clear()
    assert profiler.get_current_metrics()


def test_times_hold_what_they_should():
    with iterscope.create_profiler("custom", "cpu") as profiler:
        profiler.start_iterations()
        with profiler.track_step("outer"):
            time.sleep(0.02)
            with profiler.track_step("inner"):
                time.sleep(0.03)
        time.sleep(0.02)
        profiler.end_iteration()
        metrics = profiler.get_current_metrics()
    assert metrics["inner_time_sec"] >= 0.03
    assert metrics["outer_time_sec"] >= 0.05
    assert metrics["total_time_sec"] >= 0.07
    assert metrics["total_time_sec"] < metrics["outer_time_sec"] + metrics["inner_time_sec"]


def test_iteration_times_add_up_to_the_loop():
    total = 0.0
    with iterscope.create_profiler("custom", "cpu") as profiler:
        profiler.start_iterations()
        start = time.perf_counter()
        for _ in range(30):
            with profiler.track_step("a"):
                time.sleep(0.007)
            time.sleep(0.003)
            profiler.end_iteration()
            total += profiler.get_current_metrics()["total_time_sec"]
        wall = time.perf_counter() - start
    assert wall * 0.95 < total <= wall


def test_set_up_is_not_charged_to_iteration_0():
    with iterscope.create_profiler("custom", "cpu") as profiler:
        with profiler.track_step("a"):
            time.sleep(0.05)
        profiler.start_iterations()
        iterate(profiler)
        metrics = profiler.get_current_metrics()
        assert metrics["total_time_sec"] < 0.05
        assert metrics["a_time_sec"] < 0.05
        with pytest.raises(iterscope.UsageError, match="start_iterations"):
            profiler.start_iterations()


# --- life cycle -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", ["exit", "finalize then exit", "exit then finalize"])
def test_both_orders_of_finalize_and_exit_work(mode, order):
    profiler = iterscope.create_profiler(mode, "cpu")
    with profiler:
        iterate(profiler)
        if order == "finalize then exit":
            profiler.finalize(SimpleNamespace(rank=0))
            iterate(profiler)
    if order == "exit then finalize":
        profiler.finalize(SimpleNamespace(rank=0))
        profiler.finalize()
    assert not profiler.is_recording
    other = SimpleNamespace(rank=3)
    if mode is None:
        profiler.finalize(other)
    else:
        with pytest.warns(iterscope.IterscopeWarning, match="rank 3"):
            profiler.finalize(other)
    profiler.end_iteration()
    assert profiler.get_current_metrics() == {}


def test_two_solves_through_one_profiler():
    profiler = iterscope.create_profiler("custom", "cpu", active=1)
    for _ in range(2):
        with profiler:
            assert profiler.get_current_metrics() == {}
            iterate(profiler)
            assert profiler.get_current_metrics()
            iterate(profiler)
            assert profiler.get_current_metrics() == {}


def test_entering_twice_is_a_usage_error_and_the_first_run_goes_on():
    with iterscope.create_profiler("custom", "cpu") as profiler:
        with pytest.raises(iterscope.UsageError, match="already running"):
            profiler.__enter__()
        iterate(profiler)
        assert profiler.get_current_metrics()


@pytest.mark.parametrize("mode", MODES)
def test_an_exception_goes_on_unchanged(mode):
    boom = ValueError("boom")
    profiler = iterscope.create_profiler(mode, "cpu")
    with pytest.raises(ValueError, match="boom") as caught, profiler:
        iterate(profiler)
        with profiler.track_step("a"):
            raise boom
    assert caught.value is boom
    assert not profiler.is_recording
    with profiler:
        iterate(profiler)


def test_contexts_of_any_kind():
    class Broken:
        @property
        def rank(self):
            raise RuntimeError("no group")

    with iterscope.create_profiler("custom", "cpu") as profiler:
        for context in (
            None,
            object(),
            Broken(),
            SimpleNamespace(rank="x"),
            SimpleNamespace(rank=0),
        ):
            profiler.end_iteration(context)
        assert profiler.iteration == 5
        with pytest.warns(iterscope.IterscopeWarning, match="rank 3") as caught:
            profiler.end_iteration(SimpleNamespace(rank=3))
            profiler.end_iteration(SimpleNamespace(rank=3))
        assert len(caught) == 1


@pytest.mark.parametrize("mode", MODES)
def test_an_interrupt_in_a_context_goes_on(mode):
    class Interrupted:
        @property
        def rank(self):
            raise KeyboardInterrupt

    with iterscope.create_profiler(mode, "cpu") as profiler:
        if mode is None:
            profiler.end_iteration(Interrupted())  # mode None reads nothing
        else:
            with pytest.raises(KeyboardInterrupt):
                profiler.end_iteration(Interrupted())
            assert profiler.iteration == 0


def test_a_warning_made_an_error_at_the_start_leaves_nothing_running(monkeypatch):
    profiler = iterscope.create_profiler("custom", "cpu")
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(iterscope.IterscopeWarning, match="RANK=5"), profiler:
            raise AssertionError("the body must not run")
    assert not profiler.is_recording
    monkeypatch.delenv("RANK")
    with profiler:
        iterate(profiler)
        assert profiler.get_current_metrics()


def test_warnings_point_at_the_users_line():
    with pytest.warns(iterscope.IterscopeWarning) as caught:
        iterscope.create_profiler("custom", "cpu", repeat=2)
    assert caught[0].filename == __file__
    with pytest.warns(iterscope.IterscopeWarning) as caught:
        with iterscope.create_profiler("custom", "cpu", warmup=1) as profiler:
            iterate(profiler)
    assert caught[0].filename == __file__


def test_a_loop_without_end_iteration_is_said():
    profiler = iterscope.create_profiler("custom", "cpu")
    with pytest.warns(iterscope.IterscopeWarning, match="end_iteration"), profiler:
        with profiler.track_step("a"):
            pass


def test_warnings_may_be_errors():
    profiler = iterscope.create_profiler("custom", "cpu", warmup=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(iterscope.IterscopeWarning), profiler:
            iterate(profiler)
        with pytest.raises(KeyError):  # the body's exception is not replaced
            with profiler:
                iterate(profiler)
                raise KeyError("x")
    assert not profiler.is_recording


# --- pickle, fork, threads, other tools -----------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
@pytest.mark.parametrize("during", [False, True])
def test_pickling_gives_a_not_started_profiler(mode, dumps, during):
    profiler = iterscope.create_profiler(
        mode, "cpu", name="n,1", warmup=1, active=4, parameters={"x": 1}
    )
    if during:
        profiler.__enter__()
        iterate(profiler)
        iterate(profiler)
    twin = pickle.loads(dumps(profiler))
    assert (twin.mode, twin.name, twin.device) == (profiler.mode, "n,1", "cpu")
    assert twin.iteration == 0
    assert not twin.is_recording
    assert twin.get_current_metrics() == {}
    with twin:
        iterate(twin)
        assert twin.get_current_metrics() == {}
        iterate(twin)
        assert bool(twin.get_current_metrics()) == (mode is not None)
    assert copy.deepcopy(profiler).name == "n,1"
    profiler.finalize()


def test_a_dropped_profiler_ends_its_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    profiler = iterscope.create_profiler("custom", "cpu", name="x", save_file=True)
    profiler.__enter__()
    region = profiler.region("a")
    iterate(profiler)
    dead = weakref.ref(profiler)
    del profiler
    assert dead() is None, "no reference cycle keeps it"
    assert json.loads((tmp_path / "outputs/x_run.json").read_text())["state"] == "finished"
    with region:  # a handle may outlive it
        pass


def test_nothing_leaks():
    def run():
        with iterscope.create_profiler("custom", "cpu") as profiler:
            for i in range(5):
                iterate(profiler, (f"r{i}",))
                profiler.get_current_metrics()

    run()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(50):
        run()
    gc.collect()
    assert sys.getallocatedblocks() - before < 200


@pytest.mark.parametrize("mode", MODES)
def test_data_loader_workers_run(mode):
    data = torch.utils.data.DataLoader(torch.arange(8.0), batch_size=2, num_workers=2)
    with iterscope.create_profiler(mode, "cpu") as profiler:
        total = 0.0
        for batch in data:
            with profiler.track_step("a"):
                total += float(batch.sum())
            profiler.end_iteration()
    assert total == 28.0
    assert not torch.cuda.is_initialized()


def test_another_thread_gets_a_usage_error():
    caught = []
    with iterscope.create_profiler("custom", "cpu") as profiler:
        region = profiler.region("a")

        def work():
            for call in (
                region.__enter__,
                profiler.end_iteration,
                profiler.finalize,
                lambda: profiler.track_step("new"),
            ):
                try:
                    call()
                except iterscope.UsageError as error:
                    caught.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        iterate(profiler)
        assert profiler.iteration == 1
    assert len(caught) == 4
    assert all("another thread" in text for text in caught)


def test_nothing_of_the_process_is_touched():
    import random
    import signal

    def state():
        return (
            torch.get_num_threads(),
            torch.get_default_dtype(),
            torch.random.get_rng_state().tolist(),
            random.getstate(),
            np.random.get_state()[1].tolist(),
            [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGXFSZ)],
            sys.getprofile(),
            sys.gettrace(),
            threading.active_count(),
            torch.cuda.is_initialized(),
            torch.autograd.profiler._is_profiler_enabled,
            torch.is_grad_enabled(),
        )

    before = state()
    with iterscope.create_profiler("custom", "cpu") as profiler:
        iterate(profiler)
        assert state() == before
    assert state() == before


@pytest.mark.parametrize("after_compile", [False, True])
def test_a_machine_without_the_accelerator_warns_and_goes_on(after_compile):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    if after_compile:  # where CUDA is absent this registers a guard that pretends to have it
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
    with pytest.warns(iterscope.IterscopeWarning, match="cuda:1"):
        profiler = iterscope.create_profiler("custom", "cuda:1")
    with profiler:
        iterate(profiler)
        assert profiler.get_current_metrics()["max_gpu_mb"] == 0.0
    assert not torch.cuda.is_initialized()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        iterscope.create_profiler(None, "cuda:1")


@pytest.mark.parametrize("tool", ["cProfile", "trace"])
def test_works_under_other_tools(tool, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import iterscope\n"
        "with iterscope.create_profiler('custom', 'cpu') as p:\n"
        "    with p.track_step('a'):\n        pass\n"
        "    p.end_iteration()\n"
        "    assert p.get_current_metrics()\n"
        "print('fine')\n"
    )
    options = {"cProfile": [], "trace": ["--count", "-C", str(tmp_path)]}[tool]
    done = subprocess.run(
        [sys.executable, "-m", tool, *options, str(script)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "fine" in done.stdout


def test_column_order_does_not_depend_on_hashing(tmp_path):
    code = (
        "import iterscope\n"
        "with iterscope.create_profiler('custom', 'cpu', name='x', save_file=True) as p:\n"
        "    for n in ['z', 'a', 'm', 'b']:\n"
        "        with p.track_step(n):\n            pass\n"
        "    p.end_iteration()\n"
    )
    headers = set()
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
        )
        headers.add((folder / "outputs/x_gpu_metrics.csv").read_text().splitlines()[0])
    assert len(headers) == 1
