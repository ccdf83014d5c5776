"""Traces of mode torch for test_traces.py; needs iterscope, which the tests' environment has not.

    python write_traces.py FOLDER/one
    torchrun --standalone --nproc-per-node=2 write_traces.py FOLDER/two

scripts/test_hta.sh runs both.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

import iterscope


def main():
    is_distributed = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if is_distributed:
        dist.init_process_group("gloo")
    x = torch.ones(64, 64)
    profiler = iterscope.create_profiler(
        "torch",
        "cpu",
        name="hta",
        warmup=1,
        active=3,
        per_step=False,
        trace_dir=Path(sys.argv[1]),
    )
    with profiler:
        for _ in range(4):
            with profiler.track_step("gradient"):
                x = (x @ x.T).relu()
                with profiler.track_step('inner "été"\n'):
                    x = x / x.norm()
            with profiler.track_step("reduce"):
                if is_distributed:
                    dist.all_reduce(x)
                    dist.broadcast(x, 0)
            profiler.end_iteration()
    if is_distributed:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
