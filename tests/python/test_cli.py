"""The command ``iterscope``, as a process and as a function."""

import json
import subprocess
import sys

import pytest

import iterscope
from iterscope.cli import main


def write_run(folder, stem, state="finished", name="gradient"):
    folder.mkdir(exist_ok=True)
    info = {"state": state, "mode": "custom", "device": "cpu", "start_unix_ns": len(stem)}
    (folder / f"{stem}_run.json").write_text(json.dumps(info), encoding="utf-8")
    (folder / f"{stem}_gpu_metrics.csv").write_text(
        f"iter,total_time_sec,max_gpu_mb,{name}_time_sec,{name}_max_gpu_mb\n0,0.5,0,0.125,0\n",
        encoding="utf-8",
    )
    return folder / f"{stem}_run.json"


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "iterscope.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
        **options,
    )


def test_show_prints_the_table(tmp_path, capsys):
    assert main(["show", str(write_run(tmp_path, "jacobi"))]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "run       jacobi\n" in shown.out
    assert "gradient              1  125 ms  125 ms  125 ms   25.0 %\n" in shown.out


def test_show_takes_a_folder_of_runs_oldest_first(tmp_path, capsys):
    for stem in ("longest", "b", "xx"):
        write_run(tmp_path, stem)
    assert main(["show", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("run ")] == ["b", "xx", "longest"]


def test_show_takes_several_paths(tmp_path, capsys):
    paths = [str(write_run(tmp_path, stem)) for stem in ("one", "two")]
    assert main(["show", *paths]) == 0
    assert capsys.readouterr().out.count("run  ") == 2


@pytest.mark.parametrize("missing", ["nothing", "nothing_run.json", "folder/"])
def test_a_missing_run_is_one_clear_line(tmp_path, capsys, missing):
    (tmp_path / "folder").mkdir()
    assert main(["show", str(tmp_path / missing)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("iterscope: ")
    assert str(tmp_path) in shown.err
    assert shown.err.count("\n") == 1


def test_a_damaged_run_hides_no_other(tmp_path, capsys):
    write_run(tmp_path, "good")
    bad = write_run(tmp_path, "bad")
    bad.write_text('{"state": ')
    assert main(["show", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert "run       good" in shown.out
    assert "bad_run.json" in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["version"], ["--version"]])
def test_version_prints_the_version(arguments):
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (0, f"{iterscope.__version__}\n")


@pytest.mark.parametrize("arguments", [[], ["show"], ["paint"]])
def test_wrong_arguments_exit_with_2(arguments):
    done = command(*arguments)
    assert done.returncode == 2
    assert "usage: iterscope" in done.stderr


def test_help_names_the_commands():
    done = command("--help")
    assert done.returncode == 0
    assert "show" in done.stdout
    assert "version" in done.stdout


def test_a_terminal_without_unicode_gets_escapes(tmp_path):
    path = write_run(tmp_path, "cat", name="猫")
    environment = {"PYTHONIOENCODING": "ascii", "PATH": "", **_inherited()}
    done = command("show", path, env=environment)
    assert done.returncode == 0
    assert "\\u732b" in done.stdout


def test_a_closed_pipe_is_no_error(tmp_path):
    path = write_run(tmp_path, "piped")
    script = f"{sys.executable} -m iterscope.cli show {path} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert done.stderr == ""


def _inherited():
    import os

    return {key: value for key, value in os.environ.items() if key.startswith(("PYTHONPATH", "LD"))}
