"""HolisticTraceAnalysis reads the traces of mode torch: run by `make test-hta`.

Its environment has no iterscope: write_traces.py made the traces, in the folder that the variable
ITERSCOPE_HTA_TRACES names.

TraceAnalysis loads traces without a GPU, but its breakdowns, stragglers and critical path are about
GPU kernels and fail or are empty without any. The analysis that says something on a CPU is the call
graph: what ran inside what.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hta.common.trace_call_graph import CallGraph
from hta.trace_analysis import TraceAnalysis

pytestmark = pytest.mark.filterwarnings("ignore:Downcasting behavior:FutureWarning")

RANKS = {"one": [0], "two": [0, 1]}
ITERATIONS = ["iter_1", "iter_2", "iter_3"]
INNER = 'inner "été"\n'
EACH_RANK = [(run, rank) for run, ranks in RANKS.items() for rank in ranks]


@pytest.fixture(scope="module")
def analyses():
    """TraceAnalysis of each run, with the call graph in the columns of its tables."""
    folder = Path(os.environ["ITERSCOPE_HTA_TRACES"])
    with pytest.MonkeyPatch.context() as patch:
        # HTA rounds starts up and ends down to a microsecond. Events shorter than one get a
        # negative duration, with which its call graph fails, whoever wrote the trace.
        patch.setenv("HTA_DISABLE_NS_ROUNDING", "1")
        loaded = {run: TraceAnalysis(trace_dir=str(folder / run)) for run in RANKS}
        for analysis in loaded.values():
            CallGraph(analysis.t)
    return loaded


def events_of(analysis, rank):
    """Name, category and parent of each event, by HTA's index."""
    symbols = analysis.t.symbol_table.get_sym_table()
    events = analysis.t.get_trace(rank).copy()
    for column in ("name", "cat"):
        events[column] = [symbols[number] for number in events[column]]
    return events


def names_inside(events, name):
    """Names of what the slices called `name` have directly inside, in order, with repeats."""
    inside = events["parent"].isin(events.index[events["name"] == name])
    return events[inside].sort_values("ts")["name"].tolist()


@pytest.mark.parametrize("run", RANKS)
def test_it_finds_all_ranks(analyses, run):
    trace = analyses[run].t
    assert trace.is_parsed
    assert sorted(trace.get_all_traces()) == RANKS[run]
    for rank, meta in trace.meta_data.items():
        assert meta["distributedInfo"] == {"rank": rank, "world_size": len(RANKS[run])}


@pytest.mark.parametrize(("run", "rank"), EACH_RANK)
def test_it_finds_iterations_and_regions_under_their_names(analyses, run, rank):
    events = events_of(analyses[run], rank)
    annotations = events[events["cat"] == "user_annotation"].sort_values("ts")
    ours = annotations[~annotations["name"].str.startswith("gloo:")]
    each = ["gradient", INNER, "reduce"]
    assert ours["name"].tolist() == [name for step in ITERATIONS for name in [step, *each]]
    assert (ours["dur"] > 0).all()


@pytest.mark.parametrize(("run", "rank"), EACH_RANK)
def test_its_call_graph_nests_operators_in_regions_in_iterations(analyses, run, rank):
    events = events_of(analyses[run], rank)
    for step in ITERATIONS:
        assert names_inside(events, step) == ["gradient", "reduce"]
    operators = ["aten::numpy_T", "aten::matmul", "aten::relu", INNER]
    assert names_inside(events, "gradient") == operators * len(ITERATIONS)
    inner = ["aten::linalg_vector_norm", "aten::div"]
    assert names_inside(events, INNER) == inner * len(ITERATIONS)


@pytest.mark.parametrize("rank", RANKS["two"])
def test_it_finds_communication(analyses, rank):
    events = events_of(analyses["two"], rank)
    issued = ["c10d::allreduce_", "c10d::broadcast_"]
    assert names_inside(events, "reduce") == issued * len(ITERATIONS)
    performed = events[events["name"].str.startswith("gloo:")].sort_values("ts")["name"].tolist()
    assert performed == ["gloo:all_reduce", "gloo:broadcast"] * len(ITERATIONS)
