"""Find tensors that torch makes from lists of Python, one number after the other."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.outermost_calls import LaterCalls
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64

_SEQUENCE = ("empty", "to", "lift_fresh")
"""``torch.tensor`` of a list: memory, which it fills between these two; its type; and no tape. That
of an array has no first one: its numbers are copied as a block."""


_SINGLE = '["[]"'
"""The arguments of ``empty`` for a tensor without dimensions: a number, and no list."""
_LONG = 8
"""Without shapes, a list takes this many times as long to read as the call's operators
take: a number tens of nanoseconds, and an operator takes a microsecond."""
_OFTEN = 0.1
"""Share of the calls that read for so long: of numbers and arrays, 1 to 9 of a thousand did, which
were held up (torch 2.13, without shapes)."""
_METHOD = re.compile(r"<built-in method (tensor|as_tensor|from_list) of ")
"""The frame of a call, which looks for the type of all numbers before there is any operator."""


class ListedTensors(Struct, frozen=True, eq=False):
    """The ``aten::lift_fresh`` of each tensor from a list, and the time of its call."""

    rows: I64
    start_ns: I64
    end_ns: I64

    def calls(self) -> intervals.Set:
        """Return the time in which torch makes tensors of lists."""
        return intervals.union(self.start_ns, self.end_ns)


@memoize
def listed_tensors(trace: Trace) -> ListedTensors:
    """Return tensors made from lists, by the operators that ``torch.tensor`` calls in turn.

    Without frames, a call begins with the first of these operators, and ends with the last.
    """
    ops, later = trace.ops, LaterCalls(trace)
    first, second, third = (later.named(word) for word in _SEQUENCE)
    at = np.intersect1d(np.intersect1d(first + 2, second + 1), third)
    makes, ends, last = (later.rows[at - back] for back in (2, 1, 0))
    same = (ops.thread[makes] == ops.thread[last]) & (ops.start_ns[ends] > ops.end_ns[makes])
    same &= ~groupby.named_rows(
        trace.strings, ops.concrete[makes], lambda text: text.startswith(_SINGLE)
    )
    own_ns = sum(ops.end_ns[one] - ops.start_ns[one] for one in (makes, ends, last))
    reading_ns = ops.start_ns[ends] - ops.end_ns[makes]
    shaped = ops.shapes[makes] >= 0
    same &= shaped | (reading_ns > _LONG * own_ns)
    same &= shaped | (np.count_nonzero(same) >= _OFTEN * len(same))
    if same.any():
        same &= thread_roles(trace).driving[ops.thread[last]]  # others read lists beside the step
    makes, last = makes[same], last[same]
    frame = _frames_around(trace, makes, last)
    known = frame >= 0
    frames = trace.frames
    return ListedTensors(
        last,
        np.where(known, lookup(frames.start_ns, frame, 0), ops.start_ns[makes]),
        np.where(known, lookup(frames.end_ns, frame, 0), ops.end_ns[last]),
    )


def _frames_around(trace: Trace, first: I64, last: I64) -> I64:
    """Return the frame of ``torch.tensor`` around two operators each, or ``NONE``."""
    frames, ops = trace.frames, trace.ops
    own = np.flatnonzero(
        groupby.named_rows(trace.strings, frames.name, lambda name: bool(_METHOD.match(name)))
    )
    found = np.full(len(first), NONE, np.int64)
    if not len(own):
        return found
    for thread in groupby.distinct_values(frames.thread[own]).tolist():
        rows = own[frames.thread[own] == thread]
        at = np.searchsorted(frames.start_ns[rows], ops.start_ns[first], side="right") - 1
        row = lookup(rows, at, NONE)
        around = (row >= 0) & (ops.thread[first] == thread)
        around &= lookup(frames.end_ns, row, 0) >= ops.end_ns[last]
        found[around] = row[around]
    return found
