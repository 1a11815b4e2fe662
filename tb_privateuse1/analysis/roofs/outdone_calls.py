"""Find calls that take longer than a larger call of the same operator: what it reaches here.

The inputs of such a call fit into those of the larger one, and the rest may be zeros. So the larger
call could do its work, and no rate, data sheet or number of operations is assumed. A thin product
is never compared with the rate of a thick one, but with the whole time of one that contains it.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.operators.kinds_of_work import KINDS
from tb_privateuse1.analysis.roofs.compared_calls import (
    Calls,
    containment,
    distinct,
    is_own,
    memory_ns,
    working_time,
)
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import F64, I64, Bools, Table

MOST_FACTOR = 1.5
"""A call that takes longer than this many times is outdone, as of ``shape_outliers``."""
LEAST_CALLS = 3
"""Of three the upper quartile is the longest."""
_STEADY = 2.0
"""The upper quartile by the least: calls that differ more waited for others, as threads do that
have no core of their own."""
LEAST_NS = 50_000
"""Shorter calls wait for their start, as ``reach`` says of kernels."""
_LEAST_SHARE = 0.01
"""Of the time of all calls: less is not worth a look."""


class OutdoneCalls(Table, frozen=True):
    """Distinct calls that a larger one outdoes, the most time beyond it first."""

    op: I64
    """The row of the first of them in ``trace.ops``."""
    peer: I64
    calls: I64
    least_ns: I64
    """Of the fastest of them."""
    peer_ns: I64
    """The median of the larger call."""
    is_sure: Bools
    """Nothing but the larger sizes differs, and torch's operator asks for no values."""


class OutdoneRows(Table, frozen=True):
    """Each single one of these calls."""

    op: I64
    call: I64
    """Its row in ``OutdoneCalls``."""
    share: F64
    """Of its time, what even the fastest of its equals takes beyond the larger call."""


def outdone_calls(trace: Trace, chosen: Bools) -> tuple[OutdoneCalls, OutdoneRows]:
    """Return the outdone calls among the chosen rows of ``trace.ops``, and the rows of each."""
    rows, shortest, longest = working_time(trace, chosen)
    calls, member = distinct(trace, rows, shortest, longest)
    candidate = (calls.calls >= LEAST_CALLS) & (calls.median_ns >= LEAST_NS)
    candidate &= calls.high_ns <= _STEADY * calls.least_ns
    candidate &= calls.total_ns >= _LEAST_SHARE * calls.total_ns.sum()
    found: list[tuple[int, int, bool]] = []
    for at in np.flatnonzero(candidate & (calls.kind != MISSING)).tolist():
        peer, is_sure = _best_peer(trace, calls, at)
        if peer >= 0:
            found.append((at, peer, is_sure))
    found.sort(key=lambda one: -_beyond_ns(calls, *one[:2]))
    outdone, by = (np.array([one[i] for one in found], np.int64) for i in (0, 1))
    table = OutdoneCalls(
        op=calls.op[outdone],
        peer=calls.op[by],
        calls=calls.calls[outdone],
        least_ns=calls.least_ns[outdone],
        peer_ns=calls.median_ns[by],
        is_sure=np.array([one[2] for one in found], np.bool_),
    )
    number = np.full(len(calls), -1, np.int64)
    number[outdone] = np.arange(len(found))
    call = number[member]
    is_outdone = call >= 0
    call = call[is_outdone]
    beyond: F64 = (table.least_ns - table.peer_ns)[call] / np.maximum(longest[is_outdone], 1)
    return table, OutdoneRows(op=rows[is_outdone], call=call, share=np.clip(beyond, 0.0, 1.0))


def _beyond_ns(calls: Calls, at: int, peer: int) -> int:
    return int(calls.calls[at] * (calls.least_ns[at] - calls.median_ns[peer]))


def _best_peer(trace: Trace, calls: Calls, at: int) -> tuple[int, bool]:
    """Return the fastest larger call, or -1, and whether it surely does the same."""
    ops, op = trace.ops, calls.op
    same = (ops.name[op] == ops.name[op[at]]) & (ops.dtypes[op] == ops.dtypes[op[at]])
    same &= (calls.calls >= LEAST_CALLS) & (MOST_FACTOR * calls.high_ns < calls.least_ns[at])
    # One after the other: else the machine may have been busy during the calls of one of them.
    same &= (calls.first_ns <= calls.last_ns[at]) & (calls.last_ns >= calls.first_ns[at])
    peers = np.flatnonzero(same)
    if not len(peers):
        return -1, False
    allowed = memory_ns(trace, calls, at)
    peers = peers[MOST_FACTOR * calls.high_ns[peers] + allowed < calls.least_ns[at]]
    kind = KINDS[int(calls.kind[at])]
    for peer in peers[np.argsort(calls.median_ns[peers], kind="stable")].tolist():
        relation = containment(trace, int(op[at]), int(op[peer]), kind)
        if relation is not None:
            return peer, relation == "sizes" and not is_own(trace.text(ops.name[op[at]]))
    return -1, False
