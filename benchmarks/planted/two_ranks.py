"""Run steps on two ranks: the second one does whatever the first one does."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from multiprocessing.connection import Connection

import torch
import torch.distributed as dist

from benchmarks.pairs.pair import Step

Build = Callable[[], tuple[Step, ...]]


def on_two_ranks(build: Build) -> tuple[Step, ...]:
    """Return the first rank's steps of a function that both ranks call once they have joined."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = torch.multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    context.Process(target=follow, args=(build, port, theirs), daemon=True).start()
    join(0, port)
    return tuple(announced(step, number, ours) for number, step in enumerate(build()))


def announced(step: Step, number: int, other: Connection) -> Step:
    """Return a step that first tells the other rank to do the same."""

    def both() -> object:
        other.send(number)
        return step()

    return both


def follow(build: Build, port: int, first: Connection) -> None:
    """Be the second rank until the first one ends."""
    torch.set_num_threads(1)
    join(1, port)
    steps = build()
    with contextlib.suppress(EOFError):
        while True:
            steps[first.recv()]()


def join(rank: int, port: int) -> None:
    """Join the group of two ranks."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=2)
