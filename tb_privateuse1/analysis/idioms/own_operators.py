"""Find operators of one's own that take far longer than a pass over their inputs.

Their arithmetic is in no recording. Their inputs are, and what a pass over as many bytes takes at
worst here. Where their body is Python, the recording has the calls that it makes.
"""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.analysis.idioms.independent_rounds import ROUNDS
from tb_privateuse1.analysis.idioms.single_numbers import LEAST
from tb_privateuse1.analysis.operators import library_frames
from tb_privateuse1.analysis.roofs.compared_calls import (
    distinct,
    input_bytes,
    is_own,
    memory_ns,
    working_time,
)
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools, Table

FAR = 4
"""Times of a pass as slow as any: operators that make some passes stay below."""
LEAST_NS = 50_000
"""Shorter calls wait for their start, as ``reach`` says of kernels."""
_PLACE = re.compile(r" at 0x[0-9a-f]+")
"""The address of an object in the name of its method."""


class OwnOperators(Table, frozen=True):
    """Calls of operators of one's own that are far from a pass over their inputs."""

    op: I64
    duration_ns: I64
    pass_ns: I64
    """The time of a pass over their inputs and as large an output, as slow as any here."""
    looped: I64
    """Calls of Python functions in loops of their body; 0 without stacks or Python."""


def own_operators(trace: Trace, chosen: Bools) -> OwnOperators:
    """Return these calls among the chosen rows of ``trace.ops``.

    Where Python loops, more than one pass is enough: the calls of the loop show what it costs.
    """
    rows, shortest, longest = working_time(trace, chosen)
    if not groupby.named_rows(trace.strings, trace.ops.name[rows], is_own).any():
        return OwnOperators.empty()
    calls, member = distinct(trace, rows, shortest, longest)
    moved = np.zeros(len(calls), np.int64)
    usable = groupby.named_rows(trace.strings, trace.ops.name[calls.op], is_own)
    usable &= (calls.median_ns >= LEAST_NS) & ~operator_work(trace).known[calls.op]
    for at in np.flatnonzero(usable).tolist():
        if input_bytes(trace, int(calls.op[at])) > 0:
            moved[at] = round(memory_ns(trace, calls, at))
    beyond = (moved > 0) & (moved < calls.least_ns)
    far = beyond & (FAR * moved < calls.least_ns)
    some = np.flatnonzero(beyond[member])
    looped = _looped(trace, rows[some])
    kept = far[member[some]] | (looped > 0)
    some = some[kept]
    return OwnOperators(
        op=rows[some],
        duration_ns=shortest[some],
        pass_ns=moved[member[some]],
        looped=looped[kept],
    )


def _looped(trace: Trace, rows: I64) -> I64:
    """Return how many calls the program's functions make in loops, by operator.

    Calls that differ from each other are a formula, and no loop.
    """
    frames = trace.frames
    inside = lookup(mask_of(rows, len(trace.ops)), frames.op, False)
    program = groupby.named_rows(
        trace.strings,
        frames.name,
        lambda name: bool(library_frames.LINED.match(name)) and not library_frames.is_library(name),
    )
    calls = np.flatnonzero(inside & lookup(program & inside, frames.parent, False))
    numbers: dict[str, int] = {}
    kind = np.zeros(len(trace.strings), np.int64)
    for name in groupby.distinct_values(frames.name[calls]).tolist():
        kind[name] = numbers.setdefault(_PLACE.sub("", trace.text(name)), len(numbers))
    owner = frames.op[calls].astype(np.int64)
    count = np.bincount(owner, minlength=len(trace.ops))[rows]
    once, _ = groupby.group_rows(owner, kind[frames.name[calls]])
    kinds = np.bincount(owner[once], minlength=len(trace.ops))[rows]
    looped: I64 = np.where(count >= np.maximum(LEAST, ROUNDS * kinds), count, 0)
    return looped
