"""What Python knows of the processes that were launched together."""

from __future__ import annotations

import sys


def process_group() -> tuple[int, int] | None:
    """Rank and size of the default group of torch.distributed; None while there is none.

    torch.distributed is not imported for the question: a program that has a group has done so.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return int(distributed.get_rank()), int(distributed.get_world_size())
