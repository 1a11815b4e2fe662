"""Find calls on the very tensors of an earlier equal call, by the storages that are recorded.

An execution trace numbers storages (``Trace.tensors``). A call repeats an earlier one if both have
the same numbers, read the same parts of the same storages, and nothing was written to these in
between. Memory of the host may be filled without an operator, as a data loader does: it counts only
if recorded operators made or wrote it.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idioms.outermost_calls import OutermostCalls, outermost_calls
from tb_privateuse1.analysis.idioms.result_tensors import VIEWS
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import lookup, mask_of, positions
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, READ, RETURNED, WRITTEN, Trace
from tb_privateuse1.trace.table import I64, Bools

_HOST = "cpu"


@memoize
def repeated_inputs(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` that compute what an equal call before them has computed."""
    tensors = trace.tensors
    if not len(tensors):
        return np.empty(0, np.int64)
    calls = outermost_calls(trace)
    place = positions(calls.rows, len(trace.ops))[tensors.op].astype(np.int64)
    reads = np.flatnonzero((place >= 0) & (tensors.access == READ))
    at = place[reads]
    known = _known(trace)[tensors.storage[reads]] & (tensors.storage[reads] >= 0)
    # A number of Python is a tensor of one element without a storage of its own.
    known |= (tensors.storage[reads] == NONE) & (tensors.elements[reads] == 1)
    count = len(calls.rows)
    usable = mask_of(at[tensors.storage[reads] >= 0], count) & ~mask_of(at[~known], count)
    usable &= ~mask_of(place[_spoiled(trace, place)], count) & ~calls.ends
    reads, at = reads[usable[at]], at[usable[at]]
    columns = (tensors.argument, tensors.storage, tensors.offset, tensors.elements)
    _, what = groupby.group_rows(*(column[reads] for column in columns), _version(trace, reads))
    chosen = np.flatnonzero(usable)
    signature = _signatures(what, np.searchsorted(chosen, at), len(chosen))
    first, group = groupby.group_rows(calls.call[chosen], signature)
    again = chosen[first[group] != np.arange(len(chosen))]
    _, call = np.unique(calls.call[again], return_inverse=True)
    pure = np.array([_is_pure(calls, int(i)) for i in again[_firsts(call)]] or [False], np.bool_)
    rows: I64 = calls.rows[again[pure[call]]]
    return rows


def _firsts(group: I64) -> I64:
    return np.unique(group, return_index=True)[1]


def _is_pure(calls: OutermostCalls, place: int) -> bool:
    call = calls.at(place)
    return call.is_pure and not call.writes and call.word not in VIEWS


def _known(trace: Trace) -> Bools:
    """Return by storage whether what is in it is known: nobody fills it unseen."""
    tensors = trace.tensors
    count = int(tensors.storage.max(initial=-1)) + 2
    own = np.array([name != _HOST for name in trace.strings] + [False], np.bool_)
    pair = tensors.op * np.int64(count) + tensors.storage
    view = np.isin(pair, pair[tensors.access != RETURNED])
    made = (tensors.access == RETURNED) & ~view
    seen = made | (tensors.access == WRITTEN) | own[tensors.device_name]
    return mask_of(tensors.storage[seen & (tensors.storage >= 0)], count)


def _version(trace: Trace, reads: I64) -> I64:
    """Return how often each read storage had been written to when the reading began."""
    tensors, ops = trace.tensors, trace.ops
    written = np.flatnonzero((tensors.access == WRITTEN) & (tensors.storage >= 0))
    times, rank = np.unique(
        np.concatenate((ops.start_ns[tensors.op[written]], ops.start_ns[tensors.op[reads]])),
        return_inverse=True,
    )
    span = len(times) + 1
    key = np.sort(tensors.storage[written] * np.int64(span) + rank[: len(written)])
    found: I64 = np.searchsorted(
        key, tensors.storage[reads] * np.int64(span) + rank[len(written) :]
    )
    return found


def _spoiled(trace: Trace, place: I64) -> I64:
    """Return the rows of results that somebody writes to: these must be new each time."""
    tensors = trace.tensors
    count = int(tensors.storage.max(initial=-1)) + 2
    written = mask_of(tensors.storage[(tensors.access == WRITTEN) & (tensors.storage >= 0)], count)
    returned = (place >= 0) & (tensors.access == RETURNED)
    return np.flatnonzero(returned & lookup(written, tensors.storage, False))


def _signatures(what: I64, owner: I64, count: int) -> I64:
    """Return one number for what each call reads, in order; equal ones read the same."""
    signature = np.zeros(count, np.int64)
    turn = np.arange(len(owner)) - np.searchsorted(owner, owner)
    for k in range(int(turn.max(initial=-1)) + 1):
        own = turn == k
        more = np.full(count, -1, np.int64)
        more[owner[own]] = what[own]
        _, signature = groupby.group_rows(signature, more)
    return signature
