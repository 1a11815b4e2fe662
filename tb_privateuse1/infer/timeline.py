"""Infer the device timeline from the elapsed device times of operators (ProfilerStubs).

The elapsed time of an operator is the time between two events on its stream. Who launches: the
innermost operators that are not known to be host-only (``host_only.txt``, made from torch's
dispatcher). When: a queue, that is ``start = max(launch + launch latency, end of the one
before)``, in the order of the host. Where the queue was behind, the elapsed time is device time;
where it was idle, it holds the wait for the launch too and is only an upper limit.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from tb_privateuse1.infer.base import Activities, Strings
from tb_privateuse1.read.base import Sidecar
from tb_privateuse1.trace import (
    BOUND,
    EVENTS,
    I64,
    KERNEL,
    MISSING,
    NONE,
    OPERATOR,
    Bools,
    Finding,
    Kernels,
    Lanes,
    Ops,
)

_DEFAULT_LATENCY_NS = 6_000
"""From launch to start on an idle device, where capture could not measure it."""

_DEFAULT_RESOLUTION_NS = 1_000
"""torch truncates elapsed times to microseconds."""

_COARSE_NS = 1_000_000
"""Elapsed times in whole milliseconds cannot tell one kernel from the next."""

_NOT_OF_THE_DEVICE = ("c10d::", "gloo:", "autograd::", "profiler::")


@cache
def host_only() -> frozenset[str]:
    """Names of operators whose own body launches nothing."""
    lines = (Path(__file__).parent / "host_only.txt").read_text().splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def build(ops: Ops, strings: Strings, sidecar: Sidecar | None) -> Activities | None:
    """Inferred kernels on one lane, or None where nothing can be inferred."""
    if sidecar is None:
        return None
    known = ops.elapsed_ns[ops.elapsed_ns != MISSING]
    positive = known[known > 0]
    if not len(positive):
        return None
    resolution = int(np.gcd.reduce(positive))
    if resolution >= _COARSE_NS // 1000 * 1000 and len(positive) > 1:
        message = f"All elapsed times are multiples of {resolution / 1e6:g} ms: too coarse."
        hint = "ProfilerStubs::elapsed must return microseconds (torch 2.13)."
        return Activities(
            Kernels.empty(), Lanes.empty(), findings=(Finding("elapsed_coarse", message, hint),)
        )
    latency = sidecar.facts.get("launch_latency_ns")
    latency = latency if isinstance(latency, int) and latency >= 0 else _DEFAULT_LATENCY_NS
    row = _launching(ops, strings)
    return Activities(
        _queue(ops, row, latency),
        Lanes(np.array([0]), np.array([0]), np.array([strings.id("device 0 stream 0")], np.int32)),
        {
            "launch_latency_ns": latency,
            "elapsed_resolution_ns": min(resolution, _DEFAULT_RESOLUTION_NS),
        },
    )


def _launching(ops: Ops, strings: Strings) -> I64:
    """Rows of the operators taken to launch a kernel, in the order of the host."""
    never = [
        i
        for i in np.unique(ops.name).tolist()
        if strings.all[i] in host_only()
        or strings.all[i].startswith(_NOT_OF_THE_DEVICE)
        or "::" not in strings.all[i]
    ]
    may: Bools = (ops.kind == OPERATOR) & ~np.isin(ops.name, never) & (ops.elapsed_ns > 0)
    above = np.zeros(len(ops), np.bool_)
    up = ops.parent[may]
    while len(up := np.unique(up[up >= 0])):
        up = up[~above[up]]
        above[up] = True
        up = ops.parent[up]
    rows = np.flatnonzero(may & ~above)
    return rows[np.argsort(ops.start_ns[rows], kind="stable")]


def _queue(ops: Ops, row: I64, latency: int) -> Kernels:
    duration = ops.elapsed_ns[row]
    ready = ops.start_ns[row] + latency
    # end[i] = max over j <= i of ready[j] + duration[j..i]: the queue without a loop.
    done = np.cumsum(duration)
    end = done + np.maximum.accumulate(ready - (done - duration))
    start = end - duration
    behind = start > ready
    n = len(row)
    none = np.full(n, NONE, np.int32)
    return Kernels(
        name=ops.name[row],
        kind=np.full(n, KERNEL, np.int8),
        communication=np.zeros(n, np.bool_),
        start_ns=start,
        end_ns=end,
        lane=np.zeros(n, np.int32),
        launch=none,
        op=row.astype(np.int32),
        step=none.copy(),
        correlation=np.full(n, NONE, np.int64),
        bytes=np.full(n, MISSING),
        evidence=np.where(behind, EVENTS, BOUND).astype(np.int8),
        start_bound_ns=np.full(n, MISSING),
        duration_bound_ns=np.where(behind, _DEFAULT_RESOLUTION_NS, duration),
    )
