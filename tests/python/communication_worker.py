"""What two Gloo ranks measure in mode torch; test_torch_communication.py starts it and judges.

    torchrun --standalone --nproc-per-node=2 communication_worker.py FOLDER DELAY

Every scenario runs on both ranks; each rank writes what it saw to FOLDER/rank<r>.json.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import sys
import time
import warnings
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

import iterscope

SCENARIOS = {}
RANK = int(os.environ.get("RANK", "0"))
#: How long the slow rank lets the other one wait, in seconds.
DELAY = float(sys.argv[2])


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


class Run:
    """One run of mode torch with files; `seen` is what the test gets."""

    def __init__(self, name, mode="torch", **options):
        self.profiler = iterscope.create_profiler(mode, "cpu", name=name, save_file=True, **options)
        self.iterations = []
        self.wall = []

    def __enter__(self):
        self.profiler.__enter__()
        self._start = time.perf_counter()
        return self

    def region(self, name):
        return self.profiler.track_step(name)

    def end_iteration(self):
        self.wall.append(time.perf_counter() - self._start)
        self.profiler.end_iteration()
        self.iterations.append(
            {
                "metrics": self.profiler.get_current_metrics(),
                "full": [
                    [row["section"], row["op"], row["count"]]
                    for row in self.profiler.operator_table(full=True)
                ]
                if self.profiler.mode == "torch"
                else [],
            }
        )
        self._start = time.perf_counter()

    def __exit__(self, *exception):
        self.profiler.__exit__(*exception)

    def seen(self):
        files = self.profiler.files
        collectives = None
        if "comm" in files:
            with open(files["comm"], newline="", encoding="utf-8") as file:
                collectives = list(csv.DictReader(file))
        run = json.loads(Path(files["run"]).read_text()) if "run" in files else {}
        return {
            "iterations": self.iterations,
            "wall": self.wall,
            "collectives": collectives,
            "run": run,
            "run_name": self.profiler.run_name,
            "now_unix_ns": time.time_ns(),
        }


def tell(key):
    dist.distributed_c10d._get_default_store().set(key, "1")


def await_(key):
    dist.distributed_c10d._get_default_store().wait([key], timedelta(seconds=60))


def exchange():
    """A send to and a receive from the other rank, as one batch."""
    ours, theirs = torch.full((8,), float(RANK)), torch.empty(8)
    works = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, ours, 1 - RANK), dist.P2POp(dist.irecv, theirs, 1 - RANK)]
    )
    for work in works:
        work.wait()
    assert theirs[0] == 1 - RANK


COLLECTIVES = {
    "all_reduce": lambda: dist.all_reduce(torch.ones(1000)),
    "broadcast": lambda: dist.broadcast(torch.ones(1000), 0),
    "all_gather": lambda: dist.all_gather([torch.empty(8), torch.empty(8)], torch.ones(8)),
    "barrier": dist.barrier,
    "send_recv": exchange,
}


@scenario
def each_collective():
    """Each kind in a region of its own, in two iterations."""
    with Run("each") as run:
        for _ in range(2):
            for name, call in COLLECTIVES.items():
                with run.region(f"r {name}"):
                    call()
            run.end_iteration()
    return run.seen()


@scenario
def many_iterations():
    """A collective that was waited for is in its iteration, never late."""
    with Run("many") as run:
        for _ in range(200):
            with run.region("r"):
                dist.all_reduce(torch.ones(8))
                dist.all_reduce(torch.ones(8), async_op=True).wait()
            run.end_iteration()
    return run.seen()


@scenario
def slow_partner():
    """Rank 1 joins after DELAY: rank 0's collective is in flight that long."""
    with Run("slow") as run:
        with run.region("r"):
            if RANK == 1:
                await_("slow: issued")
                time.sleep(DELAY)
            work = dist.all_reduce(torch.ones(8), async_op=True)
            if RANK == 0:
                tell("slow: issued")
            work.wait()
        run.end_iteration()
    return run.seen()


@scenario
def overlapping():
    """Two collectives in flight at once on rank 0, for DELAY at least."""
    with Run("overlapping") as run:
        with run.region("r"):
            if RANK == 1:
                await_("overlapping: issued")
                time.sleep(DELAY)
            works = [dist.all_reduce(torch.ones(8), async_op=True) for _ in range(2)]
            if RANK == 0:
                tell("overlapping: issued")
            for work in works:
                work.wait()
        run.end_iteration()
    return run.seen()


@scenario
def waited_for_elsewhere():
    """Issued in one region, waited for in another: it belongs to the first."""
    with Run("elsewhere") as run:
        with run.region("issues"):
            work = dist.all_reduce(torch.ones(8), async_op=True)
        with run.region("waits"):
            work.wait()
        run.end_iteration()
    return run.seen()


@scenario
def ddp():
    """The all-reduce that DDP starts in the backward."""
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 10, bias=False))
    with Run("ddp", warmup=3, active=1) as run:
        for _ in range(4):
            with run.region("forward"):
                loss = model(torch.ones(4, 10)).sum()
            with run.region("my step"):
                loss.backward()
            run.end_iteration()
    return run.seen()


@scenario
def ddp_often():
    """DDP waits for a future that Gloo completes before the event of the collective ends."""
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 10, bias=False))
    with Run("ddp_often") as run:
        for _ in range(200):
            loss = model(torch.ones(4, 10)).sum()
            with run.region("backward"):
                loss.backward()
            run.end_iteration()
    return run.seen()


@scenario
def outside():
    """One collective outside every region, one in a region."""
    with Run("outside") as run:
        for _ in range(2):
            if RANK == 1:
                time.sleep(DELAY)
            dist.all_reduce(torch.ones(8))
            with run.region("r"):
                dist.broadcast(torch.ones(8), 0)
            run.end_iteration()
    return run.seen()


@scenario
def nested():
    """comm_cuda_sec has what nested regions did once."""
    with Run("nested") as run:
        with run.region("outer"):
            dist.all_reduce(torch.ones(8))
            with run.region("inner"):
                if RANK == 1:
                    time.sleep(DELAY)
                dist.all_reduce(torch.ones(8))
        with run.region("other"):
            dist.all_reduce(torch.ones(8))
        run.end_iteration()
    return run.seen()


@scenario
def names():
    """Regions and labels of the user's that sound like communication."""
    with Run("names") as run:
        for name in ("broadcast_x", "my nccl", "gloo:all_reduce", "c10d::allreduce_"):
            with run.region(name):
                torch.ones(8).add_(1)
                with torch.profiler.record_function(name):
                    torch.ones(8).add_(1)
        with torch.profiler.record_function("nccl:all_reduce"):
            torch.ones(8).add_(1)
        run.end_iteration()
    return run.seen()


@scenario
def different_modes():
    """The profiler issues no collective of its own: ranks need not agree on a mode."""
    mode = "torch" if RANK == 0 else None
    with Run("modes", mode=mode) as run:
        for _ in range(5):
            with run.region("r"):
                dist.all_reduce(torch.ones(8))
            run.end_iteration()
    return run.seen()


@scenario
def different_regions():
    """Rank 0 has a region that rank 1 has not."""
    with Run("regions") as run:
        with run.region("all"):
            dist.all_reduce(torch.ones(8))
        with run.region("prox") if RANK == 0 else contextlib.nullcontext():
            torch.ones(8).add_(1)
        run.end_iteration()
    return run.seen()


@scenario
def in_flight_at_the_end():
    """Rank 0 ends its iteration, and only then rank 1 joins the collective."""
    with Run("late") as run:
        with run.region("r"):
            if RANK == 1:
                await_("late: ended")
            work = dist.all_reduce(torch.ones(8), async_op=True)
        run.end_iteration()
        if RANK == 0:
            tell("late: ended")
        work.wait()
        # The end is told by Gloo's own thread: two more iterations give it time.
        for _ in range(2):
            with run.region("r"):
                dist.barrier()
            run.end_iteration()
    return run.seen()


@scenario
def in_flight_at_the_end_of_the_run():
    """The same with the run over, and the profiler dropped, before the collective ends."""
    run = Run("abandoned", active=1)
    with run:
        with run.region("r"):
            if RANK == 1:
                await_("abandoned: ended")
            work = dist.all_reduce(torch.ones(8), async_op=True)
        run.end_iteration()
    seen = run.seen()
    del run
    if RANK == 0:
        tell("abandoned: ended")
    work.wait()
    return seen


@scenario
def aggregated():
    """Without per_step there is no communication file and no metric of it."""
    with Run("agg", per_step=False, active=3) as run:
        for _ in range(3):
            with run.region("r"):
                dist.all_reduce(torch.ones(8))
            run.end_iteration()
    seen = run.seen()
    with open(run.profiler.files["gpu_metrics"], newline="", encoding="utf-8") as file:
        seen["rows"] = list(csv.DictReader(file))
    return seen


@scenario
def second_group():
    """Collectives of another process group count too."""
    group = dist.new_group([0, 1], backend="gloo")
    with Run("group") as run:
        with run.region("r"):
            dist.all_reduce(torch.ones(8), group=group)
            dist.all_reduce(torch.ones(8))
        run.end_iteration()
    dist.destroy_process_group(group)
    return run.seen()


def main():
    folder = Path(sys.argv[1])
    os.chdir(folder)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    results = {}
    for name, run in SCENARIOS.items():
        dist.barrier()
        with warnings.catch_warnings():
            warnings.simplefilter("error", iterscope.IterscopeWarning)
            results[name] = run()
    (folder / f"rank{RANK}.json").write_text(json.dumps(results))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
