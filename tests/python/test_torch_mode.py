"""Mode torch against torch.profiler itself, and beside it."""

from __future__ import annotations

import collections
import csv
import gc
import json
import math
import subprocess
import sys
import textwrap
import threading
import warnings

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.checkpoint import checkpoint

import iterscope
import iterscope.denoisers
import iterscope.physics
import iterscope.solvers


def make(**options):
    return iterscope.create_profiler("torch", "cpu", **options)


def table_of(work, *, full, warmup=1):
    """The operators of `work` in the region "r", by name."""
    with make(warmup=warmup) as profiler:
        for _ in range(warmup + 1):
            with profiler.track_step("r"):
                work()
            profiler.end_iteration()
        rows = profiler.operator_table(full=full)
    return {row["op"]: row for row in rows}


def torch_table(work):
    """The same from torch.profiler, with its merged duplicates."""
    work()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as reference:
        work()
    return {
        event.key: event
        for event in reference.key_averages()
        if not event.key.startswith("ProfilerStep")
    }


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


def training_step():
    model = training_step.model
    loss = (model(training_step.x) ** 2).mean()
    loss.backward()
    training_step.optimizer.step()
    training_step.optimizer.zero_grad()


training_step.model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 3, 3)
)
training_step.x = torch.randn(2, 3, 32, 32)
training_step.optimizer = torch.optim.Adam(training_step.model.parameters())

LEAF = torch.randn(16, 16, requires_grad=True)
PLAIN = torch.randn(16, 16)


def in_place():
    x = PLAIN.clone()
    x.add_(1).mul_(2).clamp_(0, 1)
    x += PLAIN
    return x


def out_of_place():
    return (PLAIN + 1).relu().matmul(PLAIN).sum().item()


def double_backward():
    y = (LEAF**3).sum()
    (first,) = torch.autograd.grad(y, LEAF, create_graph=True)
    first.sum().backward()
    LEAF.grad = None


def checkpointed():
    checkpoint(lambda x: (x @ x).relu(), LEAF, use_reentrant=False).sum().backward()
    LEAF.grad = None


def own_function():
    Square.apply(LEAF).sum().backward()
    LEAF.grad = None


def convolutions():
    with torch.no_grad():
        training_step.model(training_step.x)
    with torch.inference_mode():
        torch.fft.fft2(training_step.x).abs().sum()


SUPERRES = iterscope.physics.MultiFrameSuperResolution((32, 32), num_operators=2)
PNP = iterscope.solvers.PnP(
    SUPERRES,
    SUPERRES.forward(torch.rand(1, 3, 32, 32)),
    iterscope.denoisers.TVDenoiser(n_it_max=5, crit=0.0),
    iterscope.create_profiler(None, "cpu"),
)


def pnp_iteration():
    PNP.step()


WORKS = [
    pnp_iteration,
    training_step,
    in_place,
    out_of_place,
    double_backward,
    checkpointed,
    own_function,
    convolutions,
]


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_counts_and_memory_equal_those_of_torch_profiler(work):
    ours = table_of(work, full=True)
    reference = torch_table(work)
    assert {op: row["count"] for op, row in ours.items() if op != "[memory]"} == {
        key: event.count for key, event in reference.items() if key != "[memory]"
    }
    for op, row in ours.items():
        if op != "[memory]":
            event = reference[op]
            assert row["mem_mb"] * 2**20 == event.cpu_memory_usage, op
            assert row["self_mem_mb"] * 2**20 == event.self_cpu_memory_usage, op


def test_times_are_those_of_torch_profiler():
    x = torch.rand(256, 256)

    def work():
        for _ in range(10):
            x.matmul(x)

    # The best of several: other programs may run between two clock reads.
    ours = min(
        sum(row["self_cpu_sec"] for row in table_of(work, full=True).values()) for _ in range(7)
    )
    theirs = min(
        sum(event.self_cpu_time_total for event in torch_table(work).values()) for _ in range(7)
    )
    assert theirs * 1e-6 / 10 < ours < theirs * 1e-6 * 10


def test_rows_are_the_operators_that_the_region_called_itself():
    with make() as profiler:
        with profiler.track_step("outer"):
            PLAIN.matmul(PLAIN)
            with record_function("label"):
                PLAIN.relu()
            with profiler.track_step("inner"):
                torch.nn.functional.linear(PLAIN, PLAIN)
        profiler.end_iteration()
        rows = {(row["section"], row["op"]): row["count"] for row in profiler.operator_table()}
    rows = {key: count for key, count in rows.items() if key[1] != "[memory]"}
    assert rows == {
        ("outer", "aten::matmul"): 1,
        ("outer", "aten::relu"): 1,
        ("outer", "aten::linear"): 1,
        ("inner", "aten::linear"): 1,
    }


def test_every_region_is_at_least_as_long_as_its_operators():
    with make() as profiler:
        for _ in range(5):
            with profiler.track_step("r"):
                x = torch.ones(64, 64)
                ((x + x) * x).relu().sigmoid()
            profiler.end_iteration()
            region = profiler.get_current_metrics()["r_cpu_sec"]
            assert sum(row["self_cpu_sec"] for row in profiler.operator_table(full=True)) <= region
            assert sum(row["cpu_sec"] for row in profiler.operator_table()) <= region


def test_memory_is_in_mebibytes_and_a_free_is_its_own_row():
    with make() as profiler:
        with profiler.track_step("r"):
            a = torch.rand(1024, 1024)
            del a
        profiler.end_iteration()
        full = {row["op"]: row for row in profiler.operator_table(full=True)}
    assert (full["aten::rand"]["mem_mb"], full["aten::rand"]["self_mem_mb"]) == (4.0, 0.0)
    assert full["aten::empty"]["self_mem_mb"] == 4.0
    assert full["[memory]"]["mem_mb"] == -4.0


def test_the_backward_belongs_to_the_region_that_started_it():
    with make() as profiler:
        with profiler.track_step("forward"):
            loss = (LEAF @ LEAF).sum()
        with profiler.track_step("any name"):
            loss.backward()
        profiler.end_iteration()
        sections = collections.defaultdict(set)
        for row in profiler.operator_table(full=True):
            sections[row["section"]].add(row["op"])
    LEAF.grad = None
    assert "MmBackward0" in sections["any name"]
    assert not any("Backward" in op for op in sections["forward"])


def test_metrics_and_rows_have_their_keys(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with make(name="x", save_file=True, warmup=1, active=2) as profiler:
        for i in range(5):
            for name in ("a", 'b,"q"'):
                with profiler.track_step(name):
                    PLAIN.relu()
            profiler.end_iteration()
            metrics = profiler.get_current_metrics()
            assert list(metrics) == (
                [
                    "total_time_sec",
                    "max_gpu_mb",
                    "comm_cuda_sec",
                    "comm_sync_sec",
                    "a_cpu_sec",
                    "a_cuda_sec",
                    "a_comm_sec",
                    'b,"q"_cpu_sec',
                    'b,"q"_cuda_sec',
                    'b,"q"_comm_sec',
                ]
                if i in (1, 2)
                else []
            )
    with open(profiler.files["gpu_metrics"], newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert ",".join(header) == (
        "iter,section,op,cpu_sec,cuda_sec,self_cuda_sec,mem_mb,self_mem_mb,count"
    )
    relus = [(row[0], row[1], row[8]) for row in rows if row[2] == "aten::relu"]
    assert relus == [(i, name, "1") for i in "12" for name in ("a", 'b,"q"')]
    assert all(row[4] == row[5] == "0" for row in rows)
    assert "comm" not in profiler.files


def test_device_times_that_did_not_come_are_no_zeros(tmp_path, monkeypatch):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    monkeypatch.chdir(tmp_path)
    with pytest.warns(iterscope.IterscopeWarning, match="cuda"):
        profiler = iterscope.create_profiler("torch", "cuda", name="x", save_file=True)
    with pytest.warns(iterscope.IterscopeWarning, match="no device times came"), profiler:
        with profiler.track_step("r"):
            PLAIN.relu()
        profiler.end_iteration()
        assert math.isnan(profiler.get_current_metrics()["r_cuda_sec"])
    with open(profiler.files["gpu_metrics"], newline="", encoding="utf-8") as file:
        (row,) = [row for row in csv.DictReader(file) if row["op"] == "aten::relu"]
    assert (row["cuda_sec"], row["self_cuda_sec"], row["count"]) == ("", "", "1")


# --- beside other things --------------------------------------------------------------------


def is_profiling():
    return torch.autograd.profiler._is_profiler_enabled or torch._C._autograd._profiler_enabled()


def test_a_running_profiler_of_the_users_keeps_its_data():
    ours = make()
    with profile(activities=[ProfilerActivity.CPU]) as theirs:
        PLAIN.relu()
        with pytest.raises(iterscope.UsageError, match="profiler is on"):
            ours.__enter__()
        PLAIN.sigmoid()
    names = {event.key for event in theirs.key_averages()}
    assert {"aten::relu", "aten::sigmoid"} <= names
    assert not is_profiling()
    with ours:
        with ours.track_step("r"):
            PLAIN.relu()
        ours.end_iteration()
        assert ours.operator_table()


ORDERS = {
    "theirs inside ours": "OTto",
    "theirs outlives ours": "OToT",
    "ours inside theirs": "TOot",
    "ours outlives theirs": "TOto",
}


@pytest.mark.parametrize("order", [*ORDERS.values()], ids=[*ORDERS])
@pytest.mark.parametrize("in_region", [False, True])
def test_the_orders_of_starting_and_stopping(order, in_region):
    code = f"""
        import iterscope, torch
        from torch.profiler import profile, ProfilerActivity
        x = torch.ones(8)
        ours = iterscope.create_profiler("torch", "cpu")
        theirs = profile(activities=[ProfilerActivity.CPU], profile_memory=True)
        region = ours.region("r")
        log = []
        def attempt(call):
            try:
                call()
            except (RuntimeError, iterscope.Error) as error:
                log.append(type(error).__name__)
            x.relu()
        started = False
        for step in {order!r}:
            if step == "O":
                attempt(ours.__enter__)
                {"attempt(region.__enter__)" if in_region else ""}
            if step == "o":
                {"attempt(lambda: region.__exit__(None, None, None))" if in_region else ""}
                attempt(ours.end_iteration)
                attempt(lambda: ours.__exit__(None, None, None))
            if step in "Tt":
                attempt(theirs.stop if started else theirs.start)
                started = True
        assert not torch._C._autograd._profiler_enabled()
        again = iterscope.create_profiler("torch", "cpu")
        with again:
            for _ in range(2):
                with again.track_step("r"):
                    x.relu()
                again.end_iteration()
            rows = {{r["op"]: r["count"] for r in again.operator_table()}}
        assert rows["aten::relu"] == 1, rows
        print("fine", log)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert "fine" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0, done.stderr


def test_nothing_stays_registered():
    def works():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield lambda p: p.__exit__(None, None, None)
            yield lambda p: p.finalize()
            yield lambda p: None

    for finish in works():
        profiler = make()
        profiler.__enter__()
        region = profiler.region("r")
        region.__enter__()
        PLAIN.relu()
        finish(profiler)
        del profiler, region
        gc.collect()
        assert not is_profiling()
        assert not torch._C._autograd._profiler_enabled()


def test_an_exception_in_a_region_and_in_a_backward():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("boom")

    with make() as profiler:
        for raised in (True, False):
            with profiler.track_step("r"):
                y = Fails.apply(LEAF) if raised else LEAF.clone()
                if raised:
                    with pytest.raises(ValueError, match="boom"):
                        y.sum().backward()
                else:
                    y.sum().backward()
            profiler.end_iteration()
        rows = {row["op"]: row["count"] for row in profiler.operator_table()}
    LEAF.grad = None
    assert rows["aten::clone"] == 1


def test_threads_of_the_user_leave_no_rows_and_no_harm():
    with make() as profiler:
        with profiler.track_step("r"):
            thread = threading.Thread(target=PLAIN.sigmoid)
            thread.start()
            thread.join()
            PLAIN.relu()
        profiler.end_iteration()
        ops = {row["op"] for row in profiler.operator_table(full=True)}
    assert "aten::relu" in ops
    assert "aten::sigmoid" not in ops


def test_two_profilers_on_one_thread():
    with make() as first:
        with pytest.raises(iterscope.UsageError, match="another profiler"):
            make().__enter__()
        with iterscope.create_profiler("custom", "cpu") as custom:
            with first.track_step("r"), custom.track_step("r"):
                PLAIN.relu()
            custom.end_iteration()
        first.end_iteration()
        assert first.operator_table()


def test_two_profilers_on_two_threads():
    counts = {}

    def record(n):
        with make() as profiler:
            for _ in range(20):
                with profiler.track_step("r"):
                    for _ in range(n):
                        PLAIN.relu()
                profiler.end_iteration()
                rows = {row["op"]: row["count"] for row in profiler.operator_table()}
                counts.setdefault(n, set()).add(rows["aten::relu"])

    threads = [threading.Thread(target=record, args=(n,)) for n in (3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == {3: {3}, 5: {5}}


def test_results_are_bit_equal_with_and_without():
    def run(profiler):
        torch.manual_seed(0)
        model = torch.nn.Linear(16, 16)
        with profiler:
            for _ in range(3):
                with profiler.track_step("r"):
                    model(PLAIN).pow(2).sum().backward()
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter -= 0.01 * parameter.grad
                        parameter.grad = None
                profiler.end_iteration()
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    assert torch.equal(run(make()), run(iterscope.create_profiler(None, "cpu")))


def test_a_thousand_starts_and_stops():
    for _ in range(1000):
        with make(active=1) as profiler:
            with profiler.track_step("r"):
                PLAIN.relu()
            profiler.end_iteration()
            assert profiler.operator_table()
            profiler.end_iteration()
            assert profiler.operator_table() == []
    assert not is_profiling()


def test_compiled_functions_work():
    compiled = torch.compile(lambda x: (x + 1).relu() * 2, backend="eager", fullgraph=True)
    with make() as profiler:
        for _ in range(2):
            with profiler.track_step("r"):
                result = compiled(PLAIN)
            profiler.end_iteration()
        ops = {row["op"] for row in profiler.operator_table(full=True)}
    assert torch.equal(result, (PLAIN + 1).relu() * 2)
    assert {"aten::add", "aten::relu", "aten::mul"} <= ops


# --- cycles and traces ----------------------------------------------------------------------


def scheduled(**options):
    return make(per_step=False, **options)


def solve(profiler, iterations, names=("a",)):
    with profiler:
        for _ in range(iterations):
            for name in names:
                with profiler.track_step(name):
                    PLAIN.relu()
            profiler.end_iteration()
            yield profiler.get_current_metrics()


def rows_of(profiler):
    with open(profiler.files["gpu_metrics"], newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("collector", ["observer", "kineto"])
def test_rows_add_up_over_cycles(tmp_path, monkeypatch, collector):
    monkeypatch.chdir(tmp_path)
    profiler = scheduled(
        name="x", save_file=True, warmup=1, active=2, repeat=2, collector=collector
    )
    recorded = []
    for i, metrics in enumerate(solve(profiler, 9)):
        if metrics:
            assert list(metrics) == ["total_time_sec", "max_gpu_mb"]
            recorded.append(i)
        if i in (2, 3, 4):  # replaced at the end of the first cycle
            (relu,) = [row for row in rows_of(profiler) if row["op"] == "aten::relu"]
            assert (relu["iter"], relu["section"], relu["count"]) == ("agg", "a", "2")
    assert recorded == [1, 2, 4, 5]
    (relu,) = [row for row in rows_of(profiler) if row["op"] == "aten::relu"]
    assert relu["count"] == "4"


def test_a_cycle_that_is_cut_short_still_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for options in ({}, {"trace_dir": "traces"}):
        profiler = scheduled(name="x", save_file=True, active=10, **options)
        for _ in solve(profiler, 3):
            pass
        (relu,) = [row for row in rows_of(profiler) if row["op"] == "aten::relu"]
        assert relu["count"] == "3"


def test_the_trace_has_regions_and_iterations(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ['a"b\\c', "x\ny\x01\tz", "été 日本"]
    profiler = scheduled(trace_dir="traces", warmup=2, active=2, repeat=2)
    for _ in solve(profiler, 8, names):
        pass
    path = tmp_path / "traces" / "rank_0.pt.trace.json"
    assert profiler.files == {"trace": str(path)}
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    seen = collections.Counter(event["name"] for event in events if event.get("ph") == "X")
    assert {name: seen[name] for name in names} == dict.fromkeys(names, 2)
    assert seen["iter_6"] == seen["iter_7"] == 1  # the last completed cycle
    assert seen["iter_2"] == 0
    assert seen["aten::relu"] == 6
    assert all(event["dur"] >= 0 for event in events if event.get("ph") == "X")


@pytest.mark.parametrize("iterations", [0, 1])
def test_there_is_a_trace_when_the_window_never_opened(tmp_path, monkeypatch, iterations):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in solve(scheduled(trace_dir="traces", warmup=3, active=2), iterations):
            pass
    content = json.loads((tmp_path / "traces/rank_0.pt.trace.json").read_text())
    assert isinstance(content["traceEvents"], list)


def test_another_runs_trace_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in solve(scheduled(name="one", trace_dir="traces", active=1), 1):
        pass
    first = (tmp_path / "traces/rank_0.pt.trace.json").read_bytes()
    with pytest.warns(iterscope.IterscopeWarning, match="two"):
        for _ in solve(scheduled(name="two", trace_dir="traces", active=1), 1):
            pass
    assert (tmp_path / "traces/rank_0.pt.trace.json").read_bytes() == first
    assert (tmp_path / "traces/two/rank_0.pt.trace.json").exists()


def test_traces_need_their_options(tmp_path):
    with pytest.raises(iterscope.ConfigError, match="per_step"):
        make(trace_dir=tmp_path)
    with pytest.raises(iterscope.ConfigError, match="observer"):
        scheduled(trace_dir=tmp_path, active=1, collector="observer")
    with pytest.raises(iterscope.ConfigError, match="collector"):
        make(collector="magic")
    (tmp_path / "file").write_text("")
    profiler = scheduled(trace_dir=tmp_path / "file", active=1)
    with pytest.raises(iterscope.IoError, match="file"):
        profiler.__enter__()
    with pytest.warns(iterscope.IterscopeWarning, match="repeat"):
        make(repeat=2)
    with pytest.warns(iterscope.IterscopeWarning, match="repeat"):
        scheduled(repeat=2)


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_both_collectors_give_the_same_table(work):
    def counts(collector):
        with make(warmup=1, collector=collector) as profiler:
            for _ in range(2):
                with profiler.track_step("r"):
                    work()
                profiler.end_iteration()
            return [
                {(row["section"], row["op"]): row["count"] for row in profiler.operator_table(full)}
                for full in (False, True)
            ]

    def without_memory(tables):
        return [{k: v for k, v in table.items() if k[1] != "[memory]"} for table in tables]

    assert without_memory(counts("kineto")) == without_memory(counts("observer"))
