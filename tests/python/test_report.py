"""Reports from hand-made files: exact numbers, odd names, and runs that are not whole."""

import csv
import json

import numpy as np
import pytest

from iterscope import IoError
from iterscope.report import (
    find_runs,
    format_mebibytes,
    format_run,
    format_seconds,
    format_share,
    load_run,
    save_figure,
    summarize,
)

ODD_NAME = 'a,b "q"\nz é$x$ 猫\u2028'


def write_run(folder, stem, header, rows, info=None):
    """Write a run's files as iterscope does; ``info`` None leaves run.json out."""
    folder.mkdir(exist_ok=True)
    if header is not None:
        with open(folder / f"{stem}_gpu_metrics.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([header, *rows])
    if info is not None:
        text = json.dumps({"format": 1, "run_name": stem, **info})
        (folder / f"{stem}_run.json").write_text(text, encoding="utf-8")
    return folder / stem


HEADER = [
    "iter",
    "total_time_sec",
    "max_gpu_mb",
    "gradient_time_sec",
    "gradient_max_gpu_mb",
    "denoise_time_sec",
    "denoise_max_gpu_mb",
]
ROWS = [
    [2, 0.5, 96, 0.125, 32, 0.25, 64],
    [3, 1.0, 96, 0.25, 48, "", ""],
    [4, 0.5, 128, 0.125, 32, 0.125, 128],
]
INFO = {
    "state": "finished",
    "mode": "custom",
    "device": "cuda:0",
    "options": {"warmup": 2, "active": 3},
    "iterations": 20,
    "rows": 3,
    "profiler_time_sec": 0.004,
    "region_count": 100,
    "region_cost_sec": 5e-8,
    "region_parents": {"gradient": [""], "denoise": [""]},
}


@pytest.fixture
def run(tmp_path):
    return load_run(write_run(tmp_path, "jacobi", HEADER, ROWS, INFO))


def test_the_summary_has_exact_numbers(run):
    summary = summarize(run)
    gradient, denoise = summary.regions
    assert (gradient.name, gradient.count, gradient.total_sec) == ("gradient", 3, 0.5)
    assert (gradient.mean_sec, gradient.median_sec, gradient.share) == (0.5 / 3, 0.125, 0.25)
    assert gradient.peak_mb == 48
    # An iteration that does not enter a region does not count for its mean.
    assert (denoise.name, denoise.count, denoise.total_sec) == ("denoise", 2, 0.375)
    assert (denoise.mean_sec, denoise.median_sec, denoise.share) == (0.1875, 0.1875, 0.1875)
    assert summary.untracked.total_sec == 0.125 + 0.75 + 0.25
    assert summary.untracked.median_sec == 0.25
    assert summary.untracked.share == 1.125 / 2
    assert (summary.iteration.total_sec, summary.iteration.share) == (2.0, 1.0)
    assert summary.iteration.peak_mb == 128
    assert summary.profiler_sec == 0.004
    assert summary.region_cost_sec == pytest.approx(5e-6)
    assert summary.notes == ()


def test_shares_of_regions_and_rest_add_up_to_the_iterations(run):
    summary = summarize(run)
    shares = [region.share for region in (*summary.regions, summary.untracked)]
    assert sum(shares) == pytest.approx(1.0, abs=1e-12)


def test_the_table_is_plain_and_aligned(run):
    assert format_run(run) == "\n".join(
        [
            "run       jacobi",
            "state     finished",
            "mode      custom on cuda:0",
            "recorded  3 of 20 iterations (window: from iteration 2, 3 long)",
            "",
            "region            count   total    mean  median    share      peak",
            "------------------------------------------------------------------",
            "gradient              3  500 ms  167 ms  125 ms   25.0 %  48.0 MiB",
            "denoise               2  375 ms  188 ms  188 ms   18.8 %   128 MiB",
            "(untracked rest)      3  1.12 s  375 ms  250 ms   56.2 %         -",
            "------------------------------------------------------------------",
            "iteration             3  2.00 s  667 ms  500 ms  100.0 %   128 MiB",
            "",
            "profiler's own time: 4.00 ms, 1.33 ms a recorded iteration, in none of the above",
            "reading clocks at regions: about 5.00 us in all, within the above",
        ]
    )


def test_without_device_memory_there_is_no_column_for_it(tmp_path):
    header = ["iter", "total_time_sec", "max_gpu_mb", "a_time_sec", "a_max_gpu_mb"]
    text = format_run(load_run(write_run(tmp_path, "cpu", header, [[0, 1, 0, 0.5, 0]], INFO)))
    assert "peak" not in text
    assert "MiB" not in text


@pytest.mark.parametrize("ending", ["_run.json", "_gpu_metrics.csv", ""])
def test_a_run_is_found_by_any_of_its_paths(tmp_path, ending):
    stem = write_run(tmp_path / "outputs", "x", HEADER, ROWS, INFO)
    assert load_run(f"{stem}{ending}").rows == load_run(tmp_path / "outputs").rows
    assert len(load_run(f"{stem}{ending}").rows) == 3


def test_odd_region_names_survive(tmp_path):
    header = ["iter", "total_time_sec", "max_gpu_mb", f"{ODD_NAME}_time_sec"]
    run = load_run(write_run(tmp_path, "odd", header, [[0, 1.0, 0, 0.25]], INFO))
    assert run.regions == (ODD_NAME,)
    assert summarize(run).regions[0].share == 0.25
    lines = format_run(run).splitlines()
    assert 'a,b "q"\\nz é$x$ 猫\\u2028' in lines[7]
    assert lines[7].startswith('a,b "q"')


def test_a_region_may_end_like_a_column(tmp_path):
    header = ["iter", "total_time_sec", "total_time_sec_time_sec", "x_max_gpu_mb_time_sec"]
    run = load_run(write_run(tmp_path, "names", header, [[0, 1.0, 0.5, 0.25]], INFO))
    assert run.regions == ("total_time_sec", "x_max_gpu_mb")
    assert [region.total_sec for region in summarize(run).regions] == [0.5, 0.25]


def test_long_and_wide_names_keep_the_table_within_100_columns(tmp_path):
    names = ["猫" * 80 + "1", "猫" * 80 + "2", "x" * 300]
    header = ["iter", "total_time_sec", *(f"{name}_time_sec" for name in names)]
    run = load_run(write_run(tmp_path, "s" * 150, header, [[0, 1.0, 0.1, 0.1, 0.1]], INFO))
    text = format_run(run)
    wide = [len(line) + line.count("猫") for line in text.splitlines()]
    assert max(wide) <= 100
    assert len({line for line in text.splitlines() if line.startswith("猫")}) == 2


def test_a_run_that_goes_on_has_the_rows_so_far(tmp_path):
    info = {key: INFO[key] for key in ("mode", "device", "options")} | {"state": "running"}
    run = load_run(write_run(tmp_path, "now", HEADER, ROWS[:1], info))
    assert run.state == "running"
    summary = summarize(run)
    assert summary.iteration.count == 1
    assert summary.profiler_sec is None
    text = format_run(run)
    assert "running, or killed before it could say how it ended" in text
    assert "recorded  1 iteration (window" in text
    assert "profiler's own time" not in text


def test_a_failed_run_says_why(tmp_path):
    info = INFO | {"state": "failed", "error": "ValueError: boom"}
    text = format_run(load_run(write_run(tmp_path, "bad", HEADER, ROWS, info)))
    assert "state     failed (ValueError: boom)" in text


@pytest.mark.parametrize("header", [None, HEADER])
def test_a_run_without_rows_shows_that_there_are_none(tmp_path, header):
    run = load_run(write_run(tmp_path, "none", header, [], INFO | {"iterations": 2}))
    assert run.rows == ()
    summary = summarize(run)
    assert (summary.iteration, summary.untracked, summary.regions) == (None, None, ())
    assert "no iteration has been recorded" in format_run(run)


def test_empty_files_are_a_run_that_has_just_begun(tmp_path):
    (tmp_path / "new_run.json").touch()
    (tmp_path / "new_gpu_metrics.csv").touch()
    run = load_run(tmp_path)
    assert run.state == "running"
    assert "note: new_run.json is empty" in format_run(run)


def test_a_csv_alone_can_be_read(tmp_path):
    run = load_run(write_run(tmp_path, "lone", HEADER, ROWS))
    assert run.state == "unknown"
    assert summarize(run).iteration.total_sec == 2.0
    assert "there is no lone_run.json" in format_run(run)


def test_a_missing_total_leaves_the_shares_open(tmp_path):
    stem = write_run(tmp_path, "part", ["iter", "a_time_sec"], [[0, 0.5], [1, 0.25]], INFO)
    summary = summarize(load_run(stem))
    assert summary.regions[0].total_sec == 0.75
    assert summary.regions[0].share is None
    assert summary.untracked is None
    assert "no column total_time_sec" in summary.notes[0]


NEST_HEADER = ["iter", "total_time_sec", "inner_time_sec", "outer_time_sec", "both_time_sec"]
NEST_ROWS = [[0, 1.0, 0.25, 0.5, 0.125], [1, 2.0, 0.5, 1.0, ""]]


def nested_run(folder, parents, rows=NEST_ROWS, width=5):
    info = {key: value for key, value in INFO.items() if key != "region_parents"}
    info |= {} if parents is None else {"region_parents": parents}
    body = [row[:width] for row in rows]
    return load_run(write_run(folder, "nest", NEST_HEADER[:width], body, info))


def test_what_nested_regions_cover_is_subtracted_once(tmp_path):
    run = nested_run(tmp_path, {"inner": ["outer"], "outer": [""]}, width=4)
    summary = summarize(run)
    assert summary.untracked.name == "(untracked rest)"
    assert (summary.untracked.total_sec, summary.untracked.median_sec) == (1.5, 0.75)
    assert summary.untracked.share == 0.5
    assert [region.share for region in summary.regions] == [0.25, 0.5]
    assert [region.parents for region in summary.regions] == [("outer",), ("",)]
    assert summary.notes == ()


def test_regions_that_fill_each_other_may_add_up_to_more_than_the_iteration(tmp_path):
    rows = [[0, 1.0, 0.875, 0.9375]]
    run = nested_run(tmp_path, {"inner": ["outer"], "outer": [""]}, rows, width=4)
    assert summarize(run).untracked.total_sec == 0.0625


def test_a_region_that_is_nested_at_times_makes_the_rest_an_upper_bound(tmp_path):
    parents = {"inner": ["outer"], "outer": [""], "both": ["", "outer"]}
    summary = summarize(nested_run(tmp_path, parents))
    assert summary.untracked.name == "(untracked rest, at most)"
    assert summary.untracked.total_sec == 1.5
    assert summary.notes == (
        "the untracked rest is an upper bound: some regions ran both inside and outside of "
        "others, and their time outside is not known apart",
    )


@pytest.mark.parametrize("parents", [None, {}, {"outer": [""]}, {"inner": []}, "odd"])
def test_a_run_that_was_killed_has_a_lower_bound(tmp_path, parents):
    summary = summarize(nested_run(tmp_path, parents))
    assert summary.untracked.name == "(untracked rest, at least)"
    assert summary.untracked.total_sec == 0.125 + 0.5
    assert "lower bound: run.json does not say which regions are nested" in summary.notes[0]


def test_one_region_alone_is_nested_in_none(tmp_path):
    summary = summarize(nested_run(tmp_path, None, width=3))
    assert (summary.untracked.name, summary.untracked.total_sec) == ("(untracked rest)", 2.25)
    assert summary.notes == ()


def test_without_their_nesting_regions_may_leave_the_rest_open(tmp_path):
    summary = summarize(nested_run(tmp_path, None, [[0, 1.0, 0.5, 0.75]], width=4))
    assert summary.untracked is None
    assert "nested ones are inclusive" in summary.notes[0]
    assert [region.share for region in summary.regions] == [0.5, 0.75]


def test_the_table_shows_what_lies_inside_what(tmp_path):
    parents = {"inner": ["outer"], "outer": [""], "both": ["", "outer"]}
    lines = format_run(nested_run(tmp_path, parents)).splitlines()
    assert lines[5:] == [
        "region                     count   total    mean  median    share",
        "-----------------------------------------------------------------",
        "outer                          2  1.50 s  750 ms  750 ms   50.0 %",
        "  inner                        2  750 ms  375 ms  375 ms   25.0 %",
        "both (also in outer)           1  125 ms  125 ms  125 ms    4.2 %",
        "(untracked rest, at most)      2  1.50 s  750 ms  750 ms   50.0 %",
        "-----------------------------------------------------------------",
        "iteration                      2  3.00 s  1.50 s  1.50 s  100.0 %",
        "",
        "regions inside others (indented, or marked) are part of the others' times and shares",
        "profiler's own time: 4.00 ms, 2.00 ms a recorded iteration, in none of the above",
        "reading clocks at regions: about 5.00 us in all, within the above",
        "note: the untracked rest is an upper bound: some regions ran both inside and outside of "
        "others, and",
        "      their time outside is not known apart",
    ]


@pytest.mark.parametrize(
    "parents",
    [
        {"inner": ["outer", "both"], "outer": [""], "both": ["outer"]},
        {"inner": ["both"], "outer": [""], "both": ["outer"]},
        {"inner": ["outer"], "outer": ["inner"], "both": ["both"]},  # as no profiler writes it
        {"inner": ["gone"], "outer": [""], "both": [""]},
    ],
)
def test_every_region_has_one_line_whatever_its_parents(tmp_path, parents):
    lines = format_run(nested_run(tmp_path, parents)).splitlines()
    for name in ("inner", "outer", "both"):
        assert sum(line.split(maxsplit=1)[:1] == [name] for line in lines) == 1
    if parents["inner"] == ["both"]:
        assert [line[:9].rstrip() for line in lines[7:10]] == ["outer", "  both", "    inner"]
    if len(parents["inner"]) == 2:
        assert any(line.startswith("inner (in outer, both) ") for line in lines)


def test_only_totals_are_a_table_too(tmp_path):
    header = ["iter", "total_time_sec", "max_gpu_mb"]
    text = format_run(load_run(write_run(tmp_path, "nv", header, [[0, 0.5, 0]], INFO)))
    assert "iteration" in text
    assert "untracked" not in text


def test_a_half_written_last_line_is_left_out(tmp_path):
    stem = write_run(tmp_path, "cut", HEADER, ROWS, INFO)
    with open(f"{stem}_gpu_metrics.csv", "a", encoding="utf-8") as file:
        file.write("5,0.2")
    run = load_run(stem)
    assert len(run.rows) == 3
    assert "not whole" in run.notes[0]


def test_damage_is_reported(tmp_path):
    stem = write_run(tmp_path, "hurt", HEADER, [[1, 2], *ROWS], INFO)
    with pytest.raises(IoError, match="2 cells in row 1"):
        load_run(stem)
    (tmp_path / "hurt_run.json").write_text("{", encoding="utf-8")
    with pytest.raises(IoError, match="is not JSON"):
        load_run(stem)
    (tmp_path / "hurt_run.json").write_bytes(b"\xff\xfe")
    with pytest.raises(IoError, match="not UTF-8"):
        load_run(stem)


def test_no_run_and_several_runs_are_errors(tmp_path):
    with pytest.raises(IoError, match="no run at"):
        load_run(tmp_path / "nothing")
    with pytest.raises(IoError, match="holds 0 runs"):
        load_run(tmp_path)
    write_run(tmp_path, "one", HEADER, ROWS, INFO)
    write_run(tmp_path, "two", HEADER, ROWS, INFO)
    with pytest.raises(IoError, match=r"holds 2 runs \(one, two\)"):
        load_run(tmp_path)
    with pytest.raises(IoError, match="cannot be read"):
        find_runs(tmp_path / "nowhere")


def test_runs_come_oldest_first(tmp_path):
    for stem, start in (("b", 3), ("c", 1), ("a", 2)):
        write_run(tmp_path, stem, HEADER, ROWS, INFO | {"start_unix_ns": start * 10**9})
    assert [stem.name for stem in find_runs(tmp_path)] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0, "0 s"),
        (1.0, "1.00 s"),
        (0.0123456, "12.3 ms"),
        (0.9996, "1.00 s"),
        (0.99949, "999 ms"),
        (999.6e-6, "1.00 ms"),
        (4.5e-7, "450 ns"),
        (1e-12, "0.00100 ns"),
        (12345.6, "12346 s"),
        (-0.002, "-2.00 ms"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_times_have_three_digits_and_a_unit(seconds, text):
    assert format_seconds(seconds) == text


def test_memory_and_shares_have_units():
    assert [format_mebibytes(x) for x in (None, 0, 0.25, 12.5, 1536)] == [
        "-",
        "0 MiB",
        "0.250 MiB",
        "12.5 MiB",
        "1.50 GiB",
    ]
    assert [format_share(x) for x in (None, 0.3519, 1.0)] == ["-", "35.2 %", "100.0 %"]


def png_size(path):
    header = path.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(header[16:20], "big"), int.from_bytes(header[20:24], "big")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_the_figure_is_drawn_for_any_run(tmp_path, rows):
    header = ["iter", "total_time_sec", f"{ODD_NAME}_time_sec", "_hidden_time_sec"]
    body = [[i, 1.0, 0.25, "" if i % 2 else 0.5] for i in range(rows)]
    run = load_run(write_run(tmp_path, "fig$ure", header, body, INFO))
    images = {
        "truth": np.random.default_rng(0).random((2, 3, 8, 9)),
        "volume": np.full((1, 1, 4, 5, 6), 2.0),
    }
    path = save_figure(tmp_path / "made" / "figure.png", run, images)
    width, height = png_size(path)
    assert width >= 900
    assert height >= 600


def test_the_bars_are_the_times(tmp_path, run):
    from matplotlib.figure import Figure

    from iterscope.report import figure as module

    canvas = Figure()
    axes = canvas.subplots()
    module._draw_times(axes, run)
    heights = [[patch.get_height() for patch in bars] for bars in axes.containers]
    assert heights == [[125, 250, 125], [250, 0, 125], [125, 750, 250]]
    tops = [patch.get_y() + patch.get_height() for patch in axes.containers[-1]]
    assert tops == [500, 1000, 500]
    centres = [patch.get_x() + patch.get_width() / 2 for patch in axes.containers[0]]
    assert centres == pytest.approx([2, 3, 4])
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["gradient", "denoise", "(untracked rest)"]


@pytest.mark.parametrize(
    ("parents", "rows", "names", "heights"),
    [
        (
            {"inner": ["outer"], "outer": [""]},
            [[0, 1.0, 0.25, 0.5]],
            ["outer", "(untracked rest)"],
            [[500], [500]],
        ),
        (
            {"inner": ["outer", ""], "outer": [""]},
            [[0, 1.0, 0.25, 0.5]],
            ["outer", "(untracked rest, at most)"],
            [[500], [500]],
        ),
        (
            None,
            [[0, 1.0, 0.25, 0.5]],
            ["inner", "outer", "(untracked rest, at least)"],
            [[250], [500], [250]],
        ),
        (None, [[0, 1.0, 0.5, 0.75]], ["iteration"], [[1000]]),
    ],
)
def test_bars_of_nested_regions_add_up_to_the_iteration(tmp_path, parents, rows, names, heights):
    from matplotlib.figure import Figure

    from iterscope.report import figure as module

    axes = Figure().subplots()
    module._draw_times(axes, nested_run(tmp_path, parents, rows, width=4))
    assert [[patch.get_height() for patch in bars] for bars in axes.containers] == heights
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names
