"""Communication in mode torch, between two real Gloo processes (communication_worker.py)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch.distributed as dist

pytestmark = pytest.mark.skipif(not dist.is_gloo_available(), reason="PyTorch without Gloo")

#: Seconds by which one rank keeps the other waiting.
DELAY = 0.1

RANKS = pytest.mark.parametrize("rank", [0, 1])
#: `op` of the communication file for each region of the scenario each_collective.
EACH = {
    "r all_reduce": ["all_reduce"],
    "r broadcast": ["broadcast"],
    "r all_gather": ["all_gather"],
    "r barrier": ["barrier"],
    "r send_recv": ["send", "recv"],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What both ranks saw: results[rank][scenario]. One launch for all tests."""
    folder = tmp_path_factory.mktemp("ranks")
    worker = Path(__file__).with_name("communication_worker.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    done = subprocess.run(
        [*command, str(worker), str(folder), str(DELAY)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**environment, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in (0, 1)]


def metrics_of(results, rank, scenario, iteration=0):
    return results[rank][scenario]["iterations"][iteration]["metrics"]


def collectives_of(results, rank, scenario):
    return results[rank][scenario]["collectives"] or []


def counts(iteration):
    return {(section, op): count for section, op, count in iteration["full"]}


@RANKS
@pytest.mark.parametrize("region", EACH)
@pytest.mark.parametrize("iteration", [0, 1])
def test_each_kind_is_counted_once_where_it_was_called(results, rank, region, iteration):
    seen = results[rank]["each_collective"]
    metrics = seen["iterations"][iteration]["metrics"]
    rows = [
        row
        for row in seen["collectives"]
        if (row["section"], row["iter"]) == (region, str(iteration))
    ]
    assert [row["op"] for row in rows] == EACH[region]
    backend = {
        op: count
        for (section, op), count in counts(seen["iterations"][iteration]).items()
        if section == region and op.startswith("gloo:")
    }
    assert backend == {f"gloo:{op}": 1 for op in EACH[region]}
    longest = max(float(row["sec"]) for row in rows)
    total = sum(float(row["sec"]) for row in rows)
    assert 0 < longest <= metrics[f"{region}_comm_sec"] <= total * (1 + 1e-9)
    assert metrics[f"{region}_comm_sec"] <= metrics[f"{region}_cpu_sec"]
    assert metrics[f"{region}_cuda_sec"] == 0


@RANKS
@pytest.mark.parametrize("iteration", [0, 1])
def test_communication_inside_is_the_sum_of_the_outermost_regions(results, rank, iteration):
    metrics = metrics_of(results, rank, "each_collective", iteration)
    of_regions = [value for key, value in metrics.items() if key.endswith("_comm_sec")]
    assert len(of_regions) == len(EACH)
    assert metrics["comm_cuda_sec"] == pytest.approx(sum(of_regions), abs=1e-8)
    assert metrics["comm_sync_sec"] == 0


@RANKS
def test_the_file_lists_every_collective_in_the_order_of_issue(results, rank):
    seen = results[rank]["each_collective"]
    rows = seen["collectives"]
    assert list(rows[0]) == ["iter", "section", "index", "op", "group", "start_unix_ns", "sec"]
    expected = [(str(i), region, op) for i in (0, 1) for region, ops in EACH.items() for op in ops]
    assert [(row["iter"], row["section"], row["op"]) for row in rows] == expected
    assert [int(row["index"]) for row in rows] == list(range(len(rows)))
    starts = [int(row["start_unix_ns"]) for row in rows]
    assert starts == sorted(starts)
    run_start = seen["run"]["start_unix_ns"]
    assert run_start <= starts[0] < starts[-1] <= seen["now_unix_ns"]
    total = sum(iteration["metrics"]["total_time_sec"] for iteration in seen["iterations"])
    assert all(0 < float(row["sec"]) < total for row in rows)


def test_ranks_list_the_same_collectives(results):
    def listed(rank):
        rows = collectives_of(results, rank, "each_collective")
        return [(row["iter"], row["index"], row["section"], row["op"]) for row in rows]

    assert listed(0) == listed(1)


@RANKS
def test_what_was_waited_for_is_never_late(results, rank):
    seen = results[rank]["many_iterations"]
    assert seen["run"]["late_events"] == 0
    assert [row["iter"] for row in seen["collectives"]] == [str(i // 2) for i in range(400)]
    for iteration in seen["iterations"]:
        assert counts(iteration)[("r", "gloo:all_reduce")] == 2
        assert 0 < iteration["metrics"]["r_comm_sec"] <= iteration["metrics"]["r_cpu_sec"]


def test_a_slow_partner_is_communication_of_the_rank_that_waits(results):
    waits = metrics_of(results, 0, "slow_partner")
    assert DELAY <= waits["r_comm_sec"] <= waits["r_cpu_sec"] <= waits["total_time_sec"]
    sleeps = metrics_of(results, 1, "slow_partner")
    assert sleeps["r_comm_sec"] <= sleeps["r_cpu_sec"] - DELAY


def test_overlapping_collectives_are_not_added_up(results):
    metrics = metrics_of(results, 0, "overlapping")
    rows = collectives_of(results, 0, "overlapping")
    assert [row["op"] for row in rows] == ["all_reduce", "all_reduce"]
    assert all(float(row["sec"]) >= DELAY for row in rows)
    assert metrics["r_comm_sec"] <= sum(float(row["sec"]) for row in rows) - DELAY
    assert DELAY <= metrics["r_comm_sec"] <= metrics["r_cpu_sec"]
    assert metrics["comm_cuda_sec"] == metrics["r_comm_sec"]
    assert counts(results[0]["overlapping"]["iterations"][0])[("r", "gloo:all_reduce")] == 2


@RANKS
def test_an_asynchronous_collective_belongs_to_the_region_that_issued_it(results, rank):
    metrics = metrics_of(results, rank, "waited_for_elsewhere")
    assert metrics["issues_comm_sec"] > 0
    assert metrics["waits_comm_sec"] == 0
    assert [row["section"] for row in collectives_of(results, rank, "waited_for_elsewhere")] == [
        "issues"
    ]


@RANKS
def test_the_all_reduce_of_ddp_is_counted_once_in_the_region_of_the_backward(results, rank):
    seen = results[rank]["ddp"]
    *warmup, recorded = seen["iterations"]
    assert [iteration["metrics"] for iteration in warmup] == [{}, {}, {}]
    rows = counts(recorded)
    assert rows[("my step", "gloo:all_reduce")] == rows[("my step", "c10d::allreduce_")] == 1
    assert not any(
        op.startswith(("gloo:", "c10d:")) for section, op in rows if section != "my step"
    )
    assert [(row["iter"], row["section"], row["op"]) for row in seen["collectives"]] == [
        ("3", "my step", "all_reduce")
    ]
    metrics = recorded["metrics"]
    assert metrics["my step_comm_sec"] > 0
    assert metrics["forward_comm_sec"] == metrics["comm_sync_sec"] == 0
    assert metrics["comm_cuda_sec"] == metrics["my step_comm_sec"]


@RANKS
def test_no_all_reduce_of_ddp_is_lost(results, rank):
    seen = results[rank]["ddp_often"]
    assert seen["run"]["late_events"] == 0
    of_ddp = [row["iter"] for row in seen["collectives"] if row["section"] == "backward"]
    # The first backward may build its buckets anew: its all-reduces are more than one.
    assert sorted(set(of_ddp), key=int) == [str(i) for i in range(200)]
    for iteration in seen["iterations"][2:]:
        assert counts(iteration)[("backward", "gloo:all_reduce")] == 1


@pytest.mark.parametrize("iteration", [0, 1])
def test_collectives_outside_every_region(results, iteration):
    metrics = metrics_of(results, 0, "outside", iteration)
    assert DELAY * 0.9 <= metrics["comm_sync_sec"] <= metrics["total_time_sec"]
    assert 0 < metrics["comm_cuda_sec"] == metrics["r_comm_sec"] <= metrics["r_cpu_sec"]
    rows = [
        (row["section"], row["op"])
        for row in collectives_of(results, 0, "outside")
        if row["iter"] == str(iteration)
    ]
    assert rows == [("", "all_reduce"), ("r", "broadcast")]


@RANKS
def test_nested_regions_count_once_in_the_sum(results, rank):
    metrics = metrics_of(results, rank, "nested")
    assert 0 < metrics["inner_comm_sec"] < metrics["outer_comm_sec"] <= metrics["outer_cpu_sec"]
    assert metrics["comm_cuda_sec"] == pytest.approx(
        metrics["outer_comm_sec"] + metrics["other_comm_sec"], abs=1e-8
    )
    rows = collectives_of(results, rank, "nested")
    assert [row["section"] for row in rows] == ["outer", "inner", "other"]


@RANKS
def test_names_that_sound_like_communication_are_none(results, rank):
    seen = results[rank]["names"]
    metrics = seen["iterations"][0]["metrics"]
    communication = {key: value for key, value in metrics.items() if "comm" in key}
    assert len(communication) == 6
    assert set(communication.values()) == {0}
    assert seen["collectives"] is None


def test_ranks_in_different_modes_end(results):
    recorded, silent = results[0]["different_modes"], results[1]["different_modes"]
    assert len(recorded["iterations"]) == len(silent["iterations"]) == 5
    assert [row["op"] for row in recorded["collectives"]] == ["all_reduce"] * 5
    assert all(iteration["metrics"] == {} for iteration in silent["iterations"])


def test_ranks_with_different_regions_end(results):
    assert "prox_comm_sec" in metrics_of(results, 0, "different_regions")
    assert "prox_comm_sec" not in metrics_of(results, 1, "different_regions")


def test_a_collective_in_flight_at_the_end_is_late_and_in_no_iteration(results):
    seen = results[0]["in_flight_at_the_end"]
    assert seen["run"]["late_events"] == 1
    assert [(row["iter"], row["op"]) for row in seen["collectives"]] == [
        ("1", "barrier"),
        ("2", "barrier"),
    ]
    first, *rest = seen["iterations"]
    assert counts(first)[("r", "c10d::allreduce_")] == 1
    assert first["metrics"]["r_comm_sec"] == 0
    for iteration in seen["iterations"]:
        assert ("r", "gloo:all_reduce") not in counts(iteration)
    for iteration in rest:
        assert ("r", "c10d::allreduce_") not in counts(iteration)


def test_a_collective_outlives_the_run_and_the_profiler(results):
    seen = results[0]["in_flight_at_the_end_of_the_run"]
    assert seen["collectives"] is None
    assert seen["run"]["state"] == "finished"
    assert metrics_of(results, 0, "in_flight_at_the_end_of_the_run")["comm_cuda_sec"] == 0


@RANKS
def test_another_process_group_counts_too(results, rank):
    rows = collectives_of(results, rank, "second_group")
    assert [row["op"] for row in rows] == ["all_reduce", "all_reduce"]


@RANKS
def test_aggregated_rows_have_the_collectives_but_no_list_of_them(results, rank):
    seen = results[rank]["aggregated"]
    assert seen["collectives"] is None
    assert all(
        set(iteration["metrics"]) == {"total_time_sec", "max_gpu_mb"}
        for iteration in seen["iterations"]
    )
    reduced = [row for row in seen["rows"] if row["op"] == "c10d::allreduce_"]
    assert [(row["iter"], row["section"], row["count"]) for row in reduced] == [("agg", "r", "3")]
