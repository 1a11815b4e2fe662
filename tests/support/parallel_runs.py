"""Jobs of several axes of parallelism with exact times, in us.

Sixteen ranks on two nodes: data 2 × pipeline 2 × tensor 4, tensor innermost. In a step of 10 ms a
rank runs for each of two micro-batches a receive from the stage before, a kernel, a tensor
all-reduce and a send to the stage behind. A kernel hides a part of the data all-reduce at the end.
"""

from __future__ import annotations

import json
from typing import Any

from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.distributed import Distributed, distributed
from tests.support import make
from tests.support.make import Event, kernel, launch, op, step, trace
from tests.support.results import ranks

DATA, STAGES, TENSOR = 2, 2, 4
WORLD = DATA * STAGES * TENSOR
STEPS, STEP = 3, 10_000.0
MICRO = 2
WORK, REDUCE, SEND = 1000.0, 200.0, 50.0
HIDDEN, SYNC = 300.0, 800.0
"""Of the data all-reduce: how long a kernel hides it, and all."""
SKEW = 100.0
"""Tensor rank 3 of each group comes so much later to its all-reduces, and the others wait."""
BYTES = 4 << 20


def place(rank: int) -> tuple[int, int, int]:
    """The data, pipeline and tensor coordinate of a rank."""
    return rank // (STAGES * TENSOR), rank // TENSOR % STAGES, rank % TENSOR


def rank_at(data: int, stage: int, tensor: int) -> int:
    return (data * STAGES + stage) * TENSOR + tensor


def groups_of(rank: int) -> dict[str, list[int]]:
    """The members of the rank's group on each axis."""
    data, stage, tensor = place(rank)
    return {
        "dp": [rank_at(d, stage, tensor) for d in range(DATA)],
        "pp": [rank_at(data, s, tensor) for s in range(STAGES)],
        "tp": [rank_at(data, stage, t) for t in range(TENSOR)],
    }


def describe(axis: str, style: str) -> str:
    """The description of a group as a framework writes it."""
    megatron = {"dp": "DATA_PARALLEL_GROUP", "pp": "PIPELINE_MODEL_PARALLEL_GROUP",
                "tp": "TENSOR_MODEL_PARALLEL_GROUP"}  # fmt: skip
    return {"mesh": f"mesh_{axis}", "megatron": megatron[axis], "none": "undefined"}[style]


def info(rank: int, style: str = "mesh", **more: Any) -> dict[str, Any]:
    """What torch writes of the groups of a rank."""
    names = {axis: f"{axis}{min(m)}" for axis, m in groups_of(rank).items()}
    config = [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl",
               "pg_size": WORLD, "ranks": list(range(WORLD))}]  # fmt: skip
    config += [
        {"pg_name": names[axis], "pg_desc": describe(axis, style), "backend_config": "cuda:nccl",
         "pg_size": len(members), "ranks": members}
        for axis, members in groups_of(rank).items()
    ]  # fmt: skip
    return {"backend": "nccl", "rank": rank, "world_size": WORLD, "pg_config": config, **more}


class Timeline:
    """The events of one rank: kernels in a row on two streams."""

    def __init__(self, rank: int, style: str) -> None:
        self.rank, self._style, self._number = rank, style, 0
        self.events: list[Event] = []

    def run(self, name: str, start: float, end: float, stream: int = 7, **args: Any) -> None:
        """A kernel with its operator and launch, which are at its start."""
        self._number += 1
        self.events += [
            op("aten::op", start - 3, start - 1),
            launch(start - 2.5, start - 2, self._number),
            kernel(name, start, end, self._number, stream=stream, **args),
        ]

    def talk(self, axis: str, kind: str, start: float, end: float, **more: Any) -> None:
        """A communication kernel in the rank's group of an axis."""
        members = groups_of(self.rank)[axis]
        args = {"Collective name": kind, "dtype": "Float", "In msg nelems": BYTES // 4,
                "Out msg nelems": BYTES // 4, "Group size": len(members),
                "Process Group Name": f"{axis}{min(members)}",
                "Process Group Description": describe(axis, self._style), **more}  # fmt: skip
        self.run("ncclDevKernel", start, end, 9, **args)


def one_rank(rank: int, *, style: str = "mesh", peers: bool = True, **more: Any) -> Trace:
    """The trace of a rank; ``more`` replaces keys of ``distributedInfo``."""
    return trace(*_events(rank, style, peers=peers), **_keys(rank, style, **more))


def document(rank: int) -> dict[str, Any]:
    """The file of a rank."""
    return make.document(*_events(rank, "mesh", peers=True), **_keys(rank, "mesh"))


def _keys(rank: int, style: str, **more: Any) -> dict[str, Any]:
    host = f"node{rank * 2 // WORLD}"
    return {"distributedInfo": info(rank, style, **more), "host_name": host}


def _events(rank: int, style: str, *, peers: bool) -> list[Event]:
    line = Timeline(rank, style)
    for number in range(STEPS):
        at = STEP * number + 10
        line.events.append(step(number, at - 10, at - 10 + STEP))
        _step(line, at, peers=peers)
    return line.events


def _step(line: Timeline, at: float, *, peers: bool) -> None:
    data, stage, tensor = place(line.rank)
    other = rank_at(data, 1 - stage, tensor)
    late = SKEW if tensor == TENSOR - 1 else 0.0
    now = at
    for micro in range(MICRO):
        # The second stage waits in its receive until the first one sends.
        sent = at + (micro + 1) * (WORK + SKEW + REDUCE + SEND)
        if stage == 1:
            source = {"Src Rank": other} if peers else {}
            line.talk("pp", "recv", now, sent, **source)
            now = sent
        line.run("gemm", now, now + WORK + late)
        met = now + WORK + SKEW
        line.talk("tp", "allreduce", now + WORK + late, met + REDUCE)
        now = met + REDUCE
        if stage == 0:
            target = {"Dst Rank": other} if peers else {}
            line.talk("pp", "send", now, now + SEND, **target)
            now += SEND
    line.talk("dp", "allreduce", now, now + SYNC)
    line.run("clip", now, now + HIDDEN)


def text_of_config(rank: int) -> str:
    """The groups as a text of JSON, as some versions of torch write them."""
    return json.dumps(info(rank)["pg_config"])


def job(**more: Any) -> Distributed:
    """The view of all sixteen ranks."""
    return distributed(ranks(*(one_rank(rank, **more) for rank in range(WORLD))))
