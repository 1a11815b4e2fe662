"""Runs of several ranks with exact times, in us: each step computes, and then talks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice.rank_engine import RankAdvice
from tb_privateuse1.i18n import Text
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.distributed import Distributed, distributed
from tests.support import chinese
from tests.support.make import Event, annotation, kernel, launch, op, span, step, trace
from tests.support.results import ranks

STEP, STEPS, WORLD = 10_000.0, 8, 4
SIZE = 4 << 20


class Does(Struct, frozen=True):
    """What a rank does in a step."""

    computes: float = 3000
    loads: float = 0
    """In its data loader, before it computes."""
    gloo: float = 0
    """On the host, at the step's end."""
    waits: bool = False
    """Whether the host waits for the collective."""
    name: str = "gemm"
    """Of the kernel that makes the difference to 3 ms."""


def rank(
    number: int, does: Sequence[Does], meets: Sequence[float], *, transfer: float, **more: Any
) -> Trace:
    """Step by step, what a rank does, and when the last one comes to the collective.

    ``beside`` us of the transfer run beside a kernel; ``bytes`` and ``group`` are the collective's,
    ``length`` is that of a step.
    """
    world, beside = more.get("world", WORLD), more.get("beside", 0)
    length = more.get("length", STEP)
    told = {"Collective name": "allreduce", "dtype": "Float", "Group size": world,
            "In msg nelems": more.get("bytes", SIZE) // 4, "Out msg nelems": 0,
            "Process Group Name": more.get("group", "0")}  # fmt: skip
    told["Out msg nelems"] = told["In msg nelems"]
    events: list[Event] = []
    for i, (it, meet) in enumerate(zip(does, meets, strict=True)):
        at, n = length * i, 10 * i
        events.append(step(i, at, at + length - 10))
        if it.loads:
            loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
            events.append(annotation(loader, at, at + it.loads))
        now, usual = at + it.loads, min(it.computes, 3000) - 1
        ready, end = now + 10 + it.computes, at + meet + transfer
        events += [
            op("aten::mm", now, now + 5), launch(now + 1, now + 2, n + 1),
            kernel("gemm", now + 10, now + 10 + usual, n + 1),
            launch(now + 3, now + 4, n + 3), kernel(it.name, now + 10 + usual, ready, n + 3),
            op("c10d::allreduce_", now + 6, now + 9), launch(now + 7, now + 8, n + 2),
            kernel("ncclDevKernel_AllReduce", ready, end, n + 2, stream=9, **told),
        ]  # fmt: skip
        if beside:
            events += [launch(now + 5, now + 6, n + 4), kernel("next", end - beside, end, n + 4)]
        if it.waits:
            events.append(span("cuda_runtime", "cudaStreamSynchronize", now + 20, end + 20))
        if it.gloo:
            events.append(annotation("gloo:all_reduce", end + 50, end + 50 + it.gloo, thread=7))
    events.append(op("aten::empty", length * STEPS + 10, length * STEPS + 20))
    return trace(*events, distributedInfo={"backend": "nccl", "rank": number, "world_size": world})


def run(
    *does: Does | Sequence[Does], transfer: float = 100, missing: int = 0, **more: Any
) -> Distributed:
    """A rank for each, that all meet in a collective which takes so long from then on."""
    world = len(does) + missing
    steps = [[one] * STEPS if isinstance(one, Does) else list(one) for one in does]
    meets = [max(10 + s[i].loads + s[i].computes for s in steps) for i in range(STEPS)]
    made = [
        rank(i, own, meets, transfer=transfer, world=world, **more) for i, own in enumerate(steps)
    ]
    return distributed(ranks(*made))


def by_turns(extra: float) -> list[list[Does]]:
    """Four ranks of which another one has more to do in each step."""
    return [
        [Does(3000 + extra) if i % WORLD == r else Does() for i in range(STEPS)]
        for r in range(WORLD)
    ]


def _text(value: object) -> str:
    """Return a text; whatever else JSON does not have, as numpy's numbers, is a fault."""
    assert isinstance(value, Text), f"{value!r} is no number of Python"
    return str(value)


def found(result: Distributed, rule: str) -> list[RankAdvice]:
    """What a rule said; and what must hold of all."""
    mean_ns = max(rank.step_ns or 0 for rank in result.rows)
    assert sum(row.saving_ns or 0 for row in result.advice) <= mean_ns
    msgspec.to_builtins(result, enc_hook=_text)
    for row in result.advice:
        assert all((row.title, row.explanation, row.fix, row.how, row.reference, row.evidence))
        assert (row.saving_ns is None) == (row.saving_share is None)
        chinese.check((row.title, row.explanation, row.fix, row.how, row.reference))
        chinese.check(one.note for one in row.evidence)
    return [row for row in result.advice if row.rule == rule]


FINE = Does()
SLOW = replace(FINE, computes=4000)
