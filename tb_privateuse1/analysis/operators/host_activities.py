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
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import ends_run, mask_of, starts_run
from tb_privateuse1.trace.memory_budget import BUDGET, size_bytes
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, OPERATOR, Kernels, Lanes, Trace
from tb_privateuse1.trace.statistics import lower_medians
from tb_privateuse1.trace.table import I8, I64, Bools

_NO_WORK: tuple[Kind, ...] = ("view", "allocation", "autograd", "communication")
_FILLS = re.compile(r"^aten::(arange|linspace|logspace|range|eye)$")
"""Operators that make a tensor and write it themselves; others call ``fill_`` for that."""
_NODE = re.compile(r"(Backward|ForAutograd)\d*$")
"""Nodes of autograd, which call operators."""
_ONLY_CALLS = re.compile(
    r"^aten::(to|_to_copy|type_as|contiguous|clone|item|linear|matmul|broadcast_tensors"
    r"|dropout|softmax|layer_norm|batch_norm|embedding|conv\dd|convolution|_convolution)$"
)
"""Operators that work by others alone: one that calls none had nothing to do."""
_USUAL, _CALLS = 3.0, 4
"""Times of the median of equal calls, and the fewest that have one. A cold cache makes a call about
twice as long; a slice of the scheduler is some ms."""
_MOSTLY = 0.5
"""An operator around others works itself if at least this share of its time is its own."""


def with_host_activities(trace: Trace) -> Trace:
    """Return a trace of a host alone with an activity for each operator that works itself.

    The activity is the longest time of the operator outside of what it calls, at most a few times
    that of its equal calls. Its lane is the
    thread. Only threads that can delay the program have activities, so that no two of them
    are saved at once. All who ask for a trace get one, so that what is found of it is found once.
    """
    # Its other tables are those of the trace, which the budget counts already.
    return BUDGET.compute(
        trace,
        with_host_activities,
        lambda: _with_host_activities(trace),
        weigh=lambda made: size_bytes(made.kernels),
    )


def _with_host_activities(trace: Trace) -> Trace:
    rows = _workers(trace)
    start, end = _longest_own(trace, rows)
    end = np.minimum(end, start + _longest_ns(trace, rows, end - start))
    order = np.argsort(start, kind="stable")
    order = order[end[order] > start[order]]
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
    rows = np.flatnonzero(works)
    around = call_tree.around(ops.parent, ops.parent[rows], works)
    is_inside = around != NONE
    rows, around = rows[is_inside], around[is_inside]
    same = kind[around] == kind[rows]
    calls_same = mask_of(around[same], len(ops))
    # What a product calls directly, as the copy of its bias, is part of it.
    is_product = works & ~calls_same & (kind == KINDS.index("gemm"))
    part = is_product[around] & (around == ops.parent[rows]) & (kind[rows] == KINDS.index("copy"))
    calls_other = mask_of(around[~same & ~part], len(ops))
    own = ops.self_ns >= _MOSTLY * (ops.end_ns - ops.start_ns)
    working: Bools = works & ~calls_same & (~calls_other | own)
    working[rows[part]] = False
    return np.flatnonzero(working)


def _longest_ns(trace: Trace, rows: I64, duration: I64) -> I64:
    """Return the longest time that each operator's own work takes: calls of it are alike.

    What is beyond that is time in which no thread of the process ran: the machine's.
    """
    ops = trace.ops
    # Strides count: inputs in jumps take longer in each call.
    columns = (ops.name, ops.shapes, ops.dtypes, ops.strides)
    first, group = groupby.group_rows(*(one[rows] for one in columns))
    count = np.bincount(group, minlength=len(first))
    usual = lower_medians(group, duration, len(first))
    longest: I64 = np.where(count >= _CALLS, np.rint(_USUAL * usual), np.inf)[group]
    return np.minimum(longest, duration).astype(np.int64)


def _kinds(trace: Trace) -> I8:
    """Return by string the kind of an operator that works, else -1; one more is for ``NONE``."""
    found = np.full(len(trace.strings) + 1, -1, np.int8)
    for name in groupby.distinct_values(trace.ops.name).tolist():
        text = trace.text(name)
        kind = kind_of(text, trace.vendor)
        if _NODE.search(text) or _ONLY_CALLS.match(text):
            continue
        if kind not in _NO_WORK or _FILLS.match(text):
            found[name] = KINDS.index(kind)
    return found


def _longest_own(trace: Trace, rows: I64) -> tuple[I64, I64]:
    """Return the longest time of each operator in which no operator directly inside it runs."""
    ops = trace.ops
    wanted: Bools = mask_of(rows, len(ops))
    inner = np.flatnonzero((ops.parent >= 0) & wanted[ops.parent])
    since, until = ops.start_ns[rows].copy(), ops.end_ns[rows].copy()
    outer = groupby.distinct_values(ops.parent[inner]).astype(np.int64)
    owner = np.concatenate((ops.parent[inner].astype(np.int64), outer))
    # Before each call, and before the end.
    end = np.concatenate((ops.start_ns[inner], ops.end_ns[outer]))
    then = np.concatenate((ops.end_ns[inner], ops.end_ns[outer]))
    order = np.lexsort((end, owner))
    owner, end, then = owner[order], end[order], then[order]
    begin = np.where(np.diff(owner, prepend=-1) != 0, ops.start_ns[owner], np.roll(then, 1))
    first = np.flatnonzero(starts_run(owner))
    longest = np.maximum.reduceat(end - begin, first) if len(first) else end[:0]
    best = np.flatnonzero(end - begin == np.repeat(longest, np.diff(first, append=len(owner))))
    last = best[ends_run(owner[best])]  # one per owner, in order of owners
    place = np.searchsorted(rows, owner[last])
    since[place], until[place] = begin[last], np.maximum(end, begin)[last]
    return since, until
