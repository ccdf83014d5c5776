"""What `iterscope show` says of a run in mode torch."""

from __future__ import annotations

import json

from iterscope.report import format_run, load_run

HEADER = "iter,section,op,cpu_sec,cuda_sec,self_cuda_sec,mem_mb,self_mem_mb,count\n"


def write(folder, lines, **info):
    (folder / "x_gpu_metrics.csv").write_text(HEADER + lines)
    content = {"state": "finished", "mode": "torch", "device": "cpu", **info}
    (folder / "x_run.json").write_text(json.dumps(content))
    return format_run(load_run(folder / "x"))


def test_operators_are_summed_by_region(tmp_path):
    rows = (
        "0,a,aten::relu,0.001,0,0,1,1,1\n"
        "0,a,aten::mm,0.004,0,0,2,2,2\n"
        '0,"b,""q""",aten::relu,0.5,0,0,-0.5,0,1\n'
        "1,a,aten::relu,0.002,0,0,1,1,3\n"
    )
    text = write(tmp_path, rows, rows=2, iterations=5)
    lines = [line.split() for line in text.splitlines()]
    assert ["recorded", "2", "of", "5", "iterations"] in lines
    assert ["operator", "count", "host", "memory"] in lines
    assert ["aten::mm", "2", "4.00", "ms", "2", "MiB"] in lines
    assert ["aten::relu", "4", "3.00", "ms", "2", "MiB"] in lines
    assert ["aten::relu", "1", "500", "ms", "-0.5", "MiB"] in lines
    assert ['b,"q"'] in lines
    assert text.index("aten::mm") < text.index("aten::relu"), "the longest comes first"


def test_device_time_has_a_column_where_there_is_any(tmp_path):
    text = write(tmp_path, "agg,a,aten::mm,0.001,0.25,0.25,0,0,7\n", rows=3)
    assert "device" in text
    assert "250 ms" in text
    assert "3 iterations" in text


def test_a_run_without_rows(tmp_path):
    assert "no operator has been recorded" in write(tmp_path, "")
