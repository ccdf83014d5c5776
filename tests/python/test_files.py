"""Files of a run: kills, full disks, odd folders, ranks, forks."""

from __future__ import annotations

import csv
import errno
import json
import os
import random
import resource
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import iterscope


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def saved(name="x", **options):
    return iterscope.create_profiler("custom", "cpu", name=name, save_file=True, **options)


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert all(len(row) == len(header) for row in rows)
    return [dict(zip(header, row, strict=True)) for row in rows]


def info_of(profiler):
    with open(profiler.files["run"], encoding="utf-8") as file:
        return json.load(file)


def run_python(code, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


LOOP = """
    import iterscope, signal, time
    # A parent in the background may have had it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with iterscope.create_profiler("custom", "cpu", name="x", save_file=True) as p:
        p.start_iterations()
        i = 0
        while i < 10_000:
            with p.track_step("a"):
                time.sleep(0.002)
            p.end_iteration()
            i += 1
            print(i, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_keeps_its_rows(tmp_path, number):
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(LOOP)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline()
    time.sleep(random.Random(int(number)).uniform(0.05, 0.2))
    process.send_signal(number)
    done = int(process.communicate()[0].split()[-1] or 1)
    assert process.returncode != 0
    rows = rows_of(tmp_path / "outputs/x_gpu_metrics.csv")
    assert done <= len(rows) <= done + 1
    assert [int(row["iter"]) for row in rows] == list(range(len(rows)))
    state = json.loads((tmp_path / "outputs/x_run.json").read_text())
    if number == signal.SIGINT:
        assert state["state"] == "failed"
        assert state["error"] == "KeyboardInterrupt"
    else:
        assert state["state"] == "running"


def test_an_exception_leaves_the_rows_and_its_text():
    profiler = saved()
    with pytest.raises(ValueError, match="boom"), profiler:
        for i in range(5):
            with profiler.track_step("a"):
                if i == 3:
                    raise ValueError("boom")
            profiler.end_iteration()
    assert len(rows_of(profiler.files["gpu_metrics"])) == 3
    assert info_of(profiler)["state"] == "failed"
    assert info_of(profiler)["error"] == "ValueError: boom"


@pytest.mark.parametrize("end", ["exit", "exit_zero", "generator"])
def test_ends_that_are_no_failures(end):
    profiler = saved()

    def solve():
        with profiler:
            while True:
                profiler.end_iteration()
                yield

    if end == "generator":
        solver = solve()
        next(solver)
        solver.close()
    else:
        with pytest.raises(SystemExit), profiler:
            profiler.end_iteration()
            sys.exit(*([0] if end == "exit_zero" else []))
    assert info_of(profiler)["state"] == "finished"
    with pytest.raises(SystemExit), profiler:
        sys.exit(3)
    assert info_of(profiler)["state"] == "failed"


def test_regions_and_what_they_were_entered_in():
    with saved() as profiler:
        with profiler.track_step("outer"), profiler.track_step("inner"):
            pass
        with profiler.track_step("inner"):
            pass
        profiler.end_iteration()
    assert info_of(profiler)["region_parents"] == {"outer": [""], "inner": ["outer", ""]}


def test_an_early_return_leaves_the_rows():
    profiler = saved(active=10)

    def solve():
        with profiler:
            for i in range(10):
                if i == 4:
                    return
                profiler.end_iteration()

    solve()
    assert len(rows_of(profiler.files["gpu_metrics"])) == 4
    assert info_of(profiler)["state"] == "finished"
    assert not profiler.is_recording


def test_rows_equal_the_metrics_exactly():
    read = []
    with saved(warmup=2, active=5) as profiler:
        for i in range(9):
            for name in ("a", "b")[: 1 + i % 2]:
                with profiler.track_step(name):
                    pass
            profiler.end_iteration()
            if profiler.get_current_metrics():
                read.append({"iter": float(i), **profiler.get_current_metrics()})
    rows = rows_of(profiler.files["gpu_metrics"])
    assert [{key: float(cell) for key, cell in row.items() if cell != ""} for row in rows] == read
    assert info_of(profiler)["rows"] == 5


def test_the_same_name_twice_keeps_both(tmp_path):
    for expected in ("x", "x-2", "x-3"):
        with saved() as profiler:
            profiler.end_iteration()
        assert profiler.run_name == expected
    profiler = saved()
    for expected in ("x-4", "x-5"):
        with profiler:
            profiler.end_iteration()
        assert profiler.run_name == expected
    assert len(os.listdir(tmp_path / "outputs")) == 10


def test_a_solve_survives_a_full_disk(capfd):
    done = run_python("""
        import iterscope, resource
        with iterscope.create_profiler("custom", "cpu", name="x", save_file=True) as p:
            for i in range(50):
                with p.track_step("a"):
                    pass
                if i == 10:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
                p.end_iteration()
        print("solved", i)
    """)
    assert done.returncode == 0, done.stderr
    assert "solved 49" in done.stdout
    assert done.stderr.count("x_gpu_metrics.csv' failed") == 1, done.stderr
    rows = rows_of("outputs/x_gpu_metrics.csv")
    assert 10 <= len(rows) < 50


@pytest.mark.root
def test_a_disk_that_is_really_full(tmp_path):
    mount = tmp_path / "small"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(mount)],
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs: {made.stderr.decode()}")
    try:
        code = """
            import iterscope
            with iterscope.create_profiler("custom", "cpu", name="x", save_file=True) as p:
                for i in range(2000):
                    p.end_iteration()
            print("solved")
        """
        done = run_python(code, cwd=mount)
        assert done.returncode == 0, done.stderr
        assert "solved" in done.stdout
        assert rows_of(mount / "outputs/x_gpu_metrics.csv")
        refused = run_python(code, cwd=mount)
        assert "IoError" in refused.stderr
        assert "No space left" in refused.stderr
        assert len(os.listdir(mount / "outputs")) == 2, "nothing of the refused run is left"
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_unusable_folders_are_errors_before_iteration_0(tmp_path):
    (tmp_path / "outputs").write_text("a file")
    profiler = saved()
    with pytest.raises(iterscope.IoError, match=str(tmp_path / "outputs")) as caught:
        profiler.__enter__()
    assert isinstance(caught.value, OSError)
    assert caught.value.errno == errno.EEXIST or caught.value.errno == errno.ENOTDIR
    assert not profiler.is_recording
    (tmp_path / "outputs").unlink()
    with profiler:
        profiler.end_iteration()
    assert len(rows_of(profiler.files["gpu_metrics"])) == 1


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", ".x", "x" * 4000, "a\0b", "é" * 300, "..", "\ud800"]
)
def test_any_run_name_stays_in_the_folder(tmp_path, name):
    with saved(name) as profiler:
        profiler.end_iteration()
    made = os.listdir(tmp_path / "outputs")
    assert len(made) == 2
    assert not any(entry.startswith(".") for entry in made)
    assert os.listdir(tmp_path) == ["outputs"]
    assert info_of(profiler)["name"] == name.replace("\ud800", "\ufffd" * 3)


def test_parameters_are_kept():
    parameters = {"a": 1, "b": None, "c": [1, 2], "d": 0.1, "e": True, "f": "x", "g": float("nan")}
    odd = {"h": np.int64(5), "i": np.bool_(True), "j": np.float64(0.5), "k": "a\0b", "l": "a\ud800"}
    with saved(parameters={**parameters, **odd, "\ud800": 2**70}) as profiler:
        profiler.end_iteration()
    kept = info_of(profiler)["parameters"]
    assert kept == {
        **parameters,
        "c": "[1, 2]",
        "g": "nan",
        "h": 5,
        "i": True,
        "j": 0.5,
        "k": "a\0b",
        "l": "a?",
        "?": str(2**70),
    }
    assert info_of(profiler)["versions"]["torch"]


RANK = """
    import iterscope, sys
    with iterscope.create_profiler("custom", "cpu", name="x", save_file=True) as p:
        for _ in range(3):
            with p.track_step("a"):
                pass
            p.end_iteration()
    print(p.run_name)
"""


def start_ranks(count, **variables):
    return [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(RANK)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(count), **variables},
        )
        for rank in range(count)
    ]


@pytest.mark.parametrize("run_id", ["0a7c", "none"])
def test_ranks_write_files_of_their_own(tmp_path, run_id):
    processes = start_ranks(4, TORCHELASTIC_RUN_ID=run_id)
    names = [process.communicate()[0].strip() for process in processes]
    assert len(set(names)) == 4
    for rank, name in enumerate(names):
        assert name.endswith(f"_rank{rank}")
        assert len(rows_of(tmp_path / f"outputs/{name}_gpu_metrics.csv")) == 3
        info = json.loads((tmp_path / f"outputs/{name}_run.json").read_text())
        assert (info["rank"], info["size"]) == (rank, 4)
        assert info["launch_id"] == (None if run_id == "none" else "run/0a7c")


def test_a_forked_child_writes_nothing():
    with saved() as profiler:
        with profiler.track_step("a"):
            pass
        profiler.end_iteration()
        child = os.fork()
        if child == 0:
            profiler.end_iteration()
            profiler.finalize()
            os._exit(0)
        os.waitpid(child, 0)
        assert info_of(profiler)["state"] == "running"
        profiler.end_iteration()
    assert [row["iter"] for row in rows_of(profiler.files["gpu_metrics"])] == ["0", "1"]


def test_memory_and_files_stay_bounded():
    def resident():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with saved() as profiler:
        step = profiler.region("a")
        for i in range(60_000):
            with step:
                pass
            profiler.end_iteration()
            profiler.get_current_metrics()
            if i == 10_000:
                before = resident()
        assert resident() - before < 5_000  # KiB
    assert info_of(profiler)["rows"] == 60_000


def test_no_descriptors_left():
    done = run_python("""
        import iterscope, resource, os
        with iterscope.create_profiler("custom", "cpu", name="x", save_file=True) as p:
            p.end_iteration()
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
            for _ in range(3):
                with p.track_step("late"):
                    pass
                p.end_iteration()
            try:
                iterscope.create_profiler("custom", "cpu", save_file=True).__enter__()
            except iterscope.IoError as error:
                print(error)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        print("solved")
    """)
    assert "solved" in done.stdout, done.stderr
    assert "ulimit -n" in done.stdout, done.stdout
    assert len(rows_of("outputs/x_gpu_metrics.csv")) == 4
    with open("outputs/x_run.json", encoding="utf-8") as file:
        assert json.load(file)["rows"] == 4


def test_quiet_but_for_one_line(capfd):
    with saved() as profiler:
        profiler.end_iteration()
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert profiler.run_name in captured.err
