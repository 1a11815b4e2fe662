"""See a processor as a device: operators that compute on the host are activities of their thread.

Rules on device work ask what an activity is, what it takes and which operator it is of. On a host
alone an operator's own time answers all three.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.analysis.operators.kinds_of_work import KINDS, Kind, kind_of
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, OPERATOR, Kernels, Lanes, Trace
from tb_privateuse1.trace.table import I8, I64, Bools

_NO_WORK: tuple[Kind, ...] = ("view", "allocation", "autograd", "communication")
_FILLS = re.compile(r"^aten::(arange|linspace|logspace|range|eye)$")
"""Operators that make a tensor and write it themselves; others call ``fill_`` for that."""
_MOSTLY = 0.5
"""An operator around others works itself if at least this share of its time is its own."""


def with_host_activities(trace: Trace) -> Trace:
    """Return a trace of a host alone with an activity for each operator that works itself.

    The activity is the longest time of the operator outside of what it calls. Its lane is the
    thread. Only threads that can delay the program have activities, so that no two of them
    are saved at once.
    """
    rows = _workers(trace)
    start, end = _longest_own(trace, rows)
    order = np.argsort(start, kind="stable")
    rows, start, end = rows[order], start[order], end[order]
    none, zeros = np.full(len(rows), NONE), np.zeros(len(rows), np.int64)
    ops = trace.ops
    columns = {
        "name": ops.name[rows], "kind": zeros + KERNEL, "communication": zeros.astype(np.bool_),
        "start_ns": start, "end_ns": end, "lane": ops.thread[rows], "launch": none, "op": rows,
        "capture": none, "captured_op": none, "step": ops.step[rows], "config": none,
        "correlation": zeros + MISSING, "bytes": zeros + MISSING, "evidence": zeros,
        "start_bound_ns": zeros, "shift_bound_ns": zeros, "duration_bound_ns": zeros,
        "error_group": none, "event": none,
    }  # fmt: skip
    types = Kernels.column_types()
    kernels = Kernels(**{name: column.astype(types[name]) for name, column in columns.items()})
    threads = np.arange(len(trace.threads))
    lanes = Lanes(
        device=np.zeros(len(threads), np.int64), stream=threads, name=trace.threads.name.copy()
    )
    return replace(trace, kernels=kernels, lanes=lanes)


def _workers(trace: Trace) -> I64:
    """Return the operators of driving threads that do work of their own."""
    ops = trace.ops
    kind = _kinds(trace)[ops.name]
    works = (kind >= 0) & (ops.kind == OPERATOR) & thread_roles(trace).driving[ops.thread]
    above = intervals.nearest(ops.parent, works)
    inside = works & (above != NONE)
    around, same = above[inside], kind[above[inside]] == kind[inside]
    calls_same = mask_of(around[same], len(ops))
    calls_any = mask_of(around, len(ops))
    own = ops.self_ns >= _MOSTLY * (ops.end_ns - ops.start_ns)
    working: Bools = works & ~calls_same & (~calls_any | own)
    # What a product calls directly, as the copy of its bias, is part of it.
    in_product = lookup(working & (kind == KINDS.index("gemm")), ops.parent, False)
    return np.flatnonzero(working & ~in_product)


def _kinds(trace: Trace) -> I8:
    """Return by string the kind of an operator that works, else -1; one more is for ``NONE``."""
    found = np.full(len(trace.strings) + 1, -1, np.int8)
    for name in groupby.distinct_values(trace.ops.name).tolist():
        text = trace.text(name)
        kind = kind_of(text, trace.vendor)
        if kind not in _NO_WORK or _FILLS.match(text):
            found[name] = KINDS.index(kind)
    return found


def _longest_own(trace: Trace, rows: I64) -> tuple[I64, I64]:
    """Return the longest time of each operator in which no operator directly inside it runs."""
    ops = trace.ops
    wanted: Bools = mask_of(rows, len(ops))
    inner = np.flatnonzero((ops.parent >= 0) & wanted[ops.parent])
    owner = np.concatenate((ops.parent[inner].astype(np.int64), rows))
    # Before each call, and before the end.
    until = np.concatenate((ops.start_ns[inner], ops.end_ns[rows]))
    then = np.concatenate((ops.end_ns[inner], ops.end_ns[rows]))
    order = np.lexsort((until, owner))
    owner, until, then = owner[order], until[order], then[order]
    begins = np.diff(owner, prepend=-1) != 0
    since = np.where(begins, ops.start_ns[owner], np.roll(then, 1))
    best = np.lexsort((until - since, owner))
    last = best[np.diff(owner[best], append=-1) != 0]  # one per owner, in order of owners
    place = np.searchsorted(owner[last], rows)
    return since[last][place], np.maximum(until, since)[last][place]
