"""Find batches that go through a model in parts, each with its backward pass, to one step.

Gradients add up, so that one pass of the whole batch gives the same. Parts are equal passes between
two steps of the optimizer, whose gradients add to those of the part before. They depend on each
other if one reads what an earlier one has made, as windows of a sequence do: then nothing is said.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.accumulations import accumulations
from tb_privateuse1.analysis.idioms.batched_cost import Ranges
from tb_privateuse1.analysis.idioms.outermost_calls import (
    FLOATING,
    Key,
    OutermostCalls,
    outermost_calls,
)
from tb_privateuse1.analysis.idioms.prepared_weights import states_read
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.steps.training_phases import (
    RESETTING,
    STEPPING,
    find_passes,
    phase_kinds,
)
from tb_privateuse1.analysis.work.arguments import ITEM_BYTES
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import containing, lookup
from tb_privateuse1.trace.groupby import distinct_values
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_MOST = 50_000
"""Operators that are looked through: as many as for results that nobody reads."""


class SplitBatches(Struct, frozen=True, eq=False):
    """Batches in parts: by batch the first pass and how many there are, rows of ``find_passes``."""

    first: I64
    parts: I64

    def passes(self) -> tuple[I64, I64]:
        """Return all passes that are parts, and how many their batch has."""
        rows = [np.arange(a, a + n) for a, n in zip(self.first, self.parts, strict=True)]
        return np.concatenate([*rows, np.empty(0, np.int64)]).astype(np.int64), np.repeat(
            self.parts, self.parts
        )


@memoize
def split_batches(trace: Trace) -> SplitBatches:
    """Return the batches whose passes are equal and need nothing of each other."""
    found, passes, ops = accumulations(trace), find_passes(trace), trace.ops
    none = np.empty(0, np.int64)
    kinds = phase_kinds(trace)
    # Without a step of the optimizer nothing tells which gradients it takes together.
    if not (kinds == STEPPING).any() or not (ops.shapes >= 0).any():
        return SplitBatches(none, none)
    marks = np.sort(ops.start_ns[np.isin(kinds, (STEPPING, RESETTING))])
    steps = containing(trace.steps.host_start_ns, trace.steps.host_end_ns, passes.backward_ns)
    _, period = groupby.group_rows(np.searchsorted(marks, passes.backward_ns), steps)
    fresh = np.bincount(found.backward[found.is_fresh], minlength=len(period))
    calls = outermost_calls(trace)
    own_calls = _own_calls(trace, calls)
    left = _MOST
    first, parts = [], []
    for _, some in itertools.groupby(range(len(period)), key=period.tolist().__getitem__):
        rows = list(some)
        if len(rows) < 2 or fresh[rows[1:]].any():
            continue
        own = [own_calls[one] for one in rows]
        left -= sum(map(len, own))
        if left >= 0 and _are_parts(trace, calls, own):
            first.append(rows[0])
            parts.append(len(rows))
    return SplitBatches(np.array(first, np.int64), np.array(parts, np.int64))


def _own_calls(trace: Trace, calls: OutermostCalls) -> list[I64]:
    """Return by pass the places of its forward operators on the thread that begins it.

    One that lasts longer is of the first of its passes.
    """
    passes = find_passes(trace)
    places = np.flatnonzero(~calls.ends)
    rows = calls.rows[places]
    one = np.searchsorted(passes.backward_ns, trace.ops.start_ns[rows], side="right")
    # The first linked operator may be one that an outermost one calls.
    within = trace.ops.end_ns[rows] > lookup(passes.forward_ns, one, groupby.LAST)
    places, one = places[within], one[within]
    order = np.argsort(one, kind="stable")
    places, one = places[order], one[order]
    own = calls.thread[places] == calls.thread[places[np.searchsorted(one, one)]]
    places, one = places[own], one[own]
    cuts = np.searchsorted(one, np.arange(len(passes.backward_ns) + 1)).tolist()
    return [places[first:end] for first, end in itertools.pairwise(cuts)]


def _are_parts(trace: Trace, calls: OutermostCalls, own: list[I64]) -> bool:
    """Return whether passes run equal calls, and none reads what an earlier one has made."""
    if not len(own[0]) or any(not np.array_equal(calls.call[own[0]], calls.call[x]) for x in own):
        return False
    if _communicates(trace, calls, own[0]):
        return False
    made = {call.result for place in own[0].tolist() if (call := calls.at(place)).result}
    for before, behind in itertools.pairwise(own):
        between = np.arange(before[-1] + 1, behind[0])
        between = between[(calls.thread[between] == calls.thread[before[0]]) & ~calls.ends[between]]
        if any(_may_change(calls, place) for place in between.tolist()):
            return False
        new: set[Key] = set()
        for place in (*between.tolist(), *behind.tolist()):
            call = calls.at(place)
            read = {key for key in states_read(call) if key[1] in ("", *FLOATING) and key[0] > 1}
            if (read - new) & made:
                return False
            if call.result is not None:
                new.add(call.result)
    return True


def _may_change(calls: OutermostCalls, place: int) -> bool:
    """Return whether a call between two parts may read or change gradients or weights."""
    call = calls.at(place)
    several = sum(not kind for _, kind in call.reads) > 1
    return several or (call.writes and any(size > 1 for size, _ in call.reads[:1]))


def _communicates(trace: Trace, calls: OutermostCalls, places: I64) -> bool:
    """Return whether a pass communicates on its thread: stages of a pipeline need parts."""
    names = distinct_values(trace.ops.name[calls.rows[places]])
    kinds = {kind_of(trace.text(name), trace.vendor) for name in names.tolist()}
    return "communication" in kinds


def ranges_of(trace: Trace, found: SplitBatches) -> Ranges:
    """Return the time of each batch on each thread with operators in it."""
    passes = find_passes(trace)
    start = passes.forward_ns[found.first]
    end = passes.end_ns[found.first + found.parts - 1]
    threads = distinct_values(trace.ops.thread)
    order = np.tile(np.arange(len(start)), len(threads))
    return Ranges(
        thread=np.repeat(threads, len(start)),
        start_ns=start[order],
        end_ns=end[order],
        independent=np.ones(len(order), np.bool_),
    )


def parameter_bytes(trace: Trace) -> I64:
    """Return the sizes of parameters with gradients, in the type of most of them."""
    found = accumulations(trace)
    elements = np.array([math.prod(shape) for shape in found.shapes], np.int64)
    kinds = [
        one.dtype
        for row in found.op[:1].tolist()
        if (call := read_call(trace, row))
        for one in call.tensors(1)
    ]
    return distinct_values(elements * ITEM_BYTES.get(kinds[0] if kinds else "", 0))
