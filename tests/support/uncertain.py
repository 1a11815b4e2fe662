"""Traces of inferred kernels, and truths that their bounds allow, at random."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.inference import steps
from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import BOUND, EVENTS, Kernels, Lanes, Trace
from tb_privateuse1.trace.table import I64
from tests.support import make

STEPS, KERNELS = 4, 40


@functools.cache
def _host(hosted: bool) -> Trace:
    """Return what the host does, which is the same for each seed."""
    ops = [make.op("aten::mm", 10 * i, 10 * i + 8, id=i) for i in range(STEPS * KERNELS)]
    for n in range(STEPS):
        begin = 10 * KERNELS * n
        ops.append(make.step(n, begin, begin + 10 * KERNELS - 2))
        ops.append(make.annotation("enumerate(DataLoader)#it", begin + 8, begin + 10))
        if hosted:
            ops.append(make.annotation("gloo:all_reduce", begin + 50, begin + 90, thread=5))
    return make.trace(*ops)


def pair(seed: int, lanes: int = 1, hosted: bool = False) -> tuple[Trace, Trace]:
    """A trace as inferred, and one of the truths: kernels of a lane never overlap in either."""
    random = np.random.default_rng(seed)
    host = _host(hosted)
    op_of = {id: row for row, id in enumerate(host.ops.external_id.tolist())}
    shown, true = [], []
    for lane in range(lanes):
        mine = np.flatnonzero(np.arange(STEPS * KERNELS) % lanes == lane)
        ready = 10_000 * mine + random.integers(0, 9_000)
        work = random.integers(500, int(random.choice([8_000, 22_000])), len(mine))
        start = _queue(ready, work)
        error = random.integers(0, 6_000)
        off = random.integers(-error, error + 1, len(mine))
        length = np.maximum(work + random.integers(-error, error + 1, len(mine)) // 2, 0)
        about = _queue(start + off, length)
        slack = random.integers(0, 500, len(mine))
        op = np.array([op_of[i] for i in mine.tolist()])
        known: dict[str, Any] = {
            "lane": np.full(len(mine), lane, np.int32),
            "op": op.astype(np.int32),
            "start_bound_ns": np.abs(about - start) + slack,
            "duration_bound_ns": np.abs(length - work) + slack,
            "evidence": random.choice([EVENTS, BOUND], len(mine)).astype(np.int8),
        }
        shown.append(_kernels(about, about + length, **known))
        true.append(_kernels(start, start + work, **known))
    return _with(host, shown), _with(host, true)


def _queue(ready: I64, work: I64) -> I64:
    """Starts in order, each after the one before has ended."""
    done = np.cumsum(work) - work
    starts: I64 = done + np.maximum.accumulate(ready - done)
    return starts


def with_kernels(host: Trace, start: I64, end: I64, **known: Any) -> Trace:
    """Return what the host does with kernels of one lane, and the steps that follow."""
    return _with(host, [_kernels(start, end, **known)])


def _kernels(start: I64, end: I64, **known: Any) -> Kernels:
    empty = Kernels.empty()
    zeros = {name: np.zeros(len(start), column.dtype) for name, column in empty.columns()}
    none = np.full(len(start), -1, np.int32)
    return Kernels(
        **(
            zeros
            | dict.fromkeys(("launch", "capture", "captured_op", "step"), none)
            | {"start_ns": start, "end_ns": end}
            | known
        )
    )


def _with(host: Trace, lanes: list[Kernels]) -> Trace:
    columns = {
        name: np.concatenate([dict(one.columns())[name] for one in lanes])
        for name in Kernels.column_types()
    }
    kernels = Kernels(**columns)
    none = np.full(len(lanes), -1, np.int32)
    end = max(host.end_ns, int(kernels.end_ns.max()))
    step, of_ops, of_kernels = steps.build_steps(
        host.ops, kernels, host.launches, Strings(host.strings), end
    )
    return replace(
        host,
        end_ns=end,
        lanes=Lanes(np.zeros(len(lanes), np.int64), np.arange(len(lanes)), none),
        ops=replace(host.ops, step=of_ops),
        kernels=replace(kernels, step=of_kernels),
        steps=step,
        meta=replace(host.meta, timeline="inferred"),
    )


def busy(trace: Trace) -> int:
    """The true busy time."""
    return intervals.length(intervals.union(trace.kernels.start_ns, trace.kernels.end_ns))
