"""Find modules that each round of a loop calls again on what no round changes.

A text that each step of a diffusion encodes anew gives the same each time. The module is known by
its frame, so that its weights are the same. What it reads from outside is known by elements and
type: from the first call to the last nothing makes, cuts or writes as many.

A list of inputs that was there before looks alike, as batches kept on the device. So a round must
carry something on: a product behind the call reads what the round before has made behind its own.
The inputs may be a list even so, one for each round of a recurrence: that is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.analysis.idioms.independent_rounds import ROUNDS
from tb_privateuse1.analysis.idioms.needed_inputs import VIEWS as WHOLE
from tb_privateuse1.analysis.idioms.outermost_calls import (
    FLOATING,
    Call,
    Key,
    OutermostCalls,
    outermost_calls,
)
from tb_privateuse1.analysis.idioms.prepared_weights import states_read
from tb_privateuse1.analysis.idioms.repeated_sequences import RangeHashes
from tb_privateuse1.analysis.idioms.result_tensors import VIEWS, is_random
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.operators.module_of import has_modules
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import starts_run
from tb_privateuse1.trace.groupby import group_rows, split_by_value
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_PRODUCTS = ("gemm", "convolution", "recurrent")
"""Kinds of work that carry a state on: a sum over rounds is none."""
_TRAINS_AT = {"dropout": 2, "batch_norm": 5}
"""Operators that draw or keep a state in training only, and where that is known."""


@memoize
def unchanged_passes(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` in calls of modules that repeat an earlier round's.

    There are none without frames of modules and shapes. A step, a backward pass or an optimizer
    ends a loop.
    """
    found = [np.empty(0, np.int64)]
    calls = outermost_calls(trace)
    if has_modules(trace) and (trace.ops.shapes >= 0).any() and len(calls.rows):
        loops = _Loops(trace, calls)
        for first, until in _equal_passes(trace, calls, loops.part):
            if loops.repeat(first, until):
                again = zip(first[1:].tolist(), until[1:].tolist(), strict=True)
                found += [np.arange(a, b) for a, b in again]
    return calls.rows[np.unique(np.concatenate(found))]


def _equal_passes(trace: Trace, calls: OutermostCalls, part: I64) -> Iterator[tuple[I64, I64]]:
    """Yield the first place and the end of equal calls of a module in a part, in order."""
    frames, main = trace.frames, thread_roles(trace).main
    rows = np.flatnonzero(call_tree.is_module(trace) & (frames.thread == main))
    low, high = np.searchsorted(calls.thread, (main, main + 1))
    at = trace.ops.start_ns[calls.rows[low:high]]
    first = low + np.searchsorted(at, frames.start_ns[rows])
    until = low + np.searchsorted(at, frames.end_ns[rows])
    some = until > first
    some[some] = part[first[some]] == part[until[some] - 1]
    rows, first, until = rows[some], first[some], until[some]
    same = RangeHashes(calls.call).of(first, until).view(np.int64)
    _, group = group_rows(frames.name[rows], part[first], same, until - first)
    often = np.flatnonzero(np.bincount(group, minlength=1)[group] >= ROUNDS)
    for _, members in split_by_value(group[often]):
        own = often[members]
        own = own[np.argsort(first[own], kind="stable")]
        yield first[own], until[own]


class _Loops:
    """The operators of a trace, as loops around calls of modules read and make tensors.

    ``part`` has by place the number of its part: a thread's, up to a step or a backward pass.
    """

    def __init__(self, trace: Trace, calls: OutermostCalls) -> None:
        self._calls = calls
        step = trace.ops.step[calls.rows]
        self.part: I64 = np.cumsum(starts_run(calls.thread, step) | calls.ends) - 1
        heads = calls.rows[calls.first].tolist()
        names = [trace.text(trace.ops.name[row]) for row in heads]
        kinds = [kind_of(name, trace.vendor) for name in names]
        self._multiplies = [kind in _PRODUCTS for kind in kinds]
        self._cuts = [kind == "view" and one.word not in WHOLE
                      for kind, one in zip(kinds, calls.calls, strict=True)]  # fmt: skip
        self._varies = [
            _varies(trace, row, one) for row, one in zip(heads, calls.calls, strict=True)
        ]
        self._makers: dict[Key, I64] = {}

    def repeat(self, first: I64, until: I64) -> bool:
        """Return whether equal calls of a module are rounds' that carry something else on."""
        inputs = self._inputs(range(int(first[0]), int(until[0])))
        return (
            bool(inputs)
            and all(self._stays(key, first, int(until[-1])) for key in inputs)
            and self._is_carried(first, until)
        )

    def _inputs(self, places: range) -> set[Key]:
        """Return what a call reads from outside beside weights; nothing if it varies by itself."""
        inputs: set[Key] = set()
        made: set[Key] = set()
        for place in places:
            call = self._calls.at(place)
            if self._varies[self._calls.call[place]]:
                return set()
            if call.writes and not set(call.reads[:1]) & made:
                return set()
            outside = set(states_read(call)) - made
            inputs |= outside
            # A view of an input is that input.
            if call.result is not None and (call.word not in VIEWS or not outside):
                made.add(call.result)
        return inputs

    def _stays(self, key: Key, first: I64, end: int) -> bool:
        """Return whether nothing in a loop makes a tensor, nor a list of them ahead of it."""
        makers = self._made(key)
        begin = int(np.searchsorted(self.part, self.part[first[0]]))
        ahead, start, stop = np.searchsorted(makers, (begin, first[0], end)).tolist()
        before = makers[ahead:start]
        parted = any(self._cuts[call] for call in self._calls.call[before].tolist())
        return bool(start == stop) and not parted and len(before) < len(first)

    def _made(self, key: Key) -> I64:
        """Return the places of operators that may make or write a tensor of a size and type."""
        if key not in self._makers:
            may = [
                _may_make(call, key, cuts=cuts)
                for call, cuts in zip(self._calls.calls, self._cuts, strict=True)
            ]
            self._makers[key] = np.flatnonzero(np.array(may, np.bool_)[self._calls.call])
        return self._makers[key]

    def _is_carried(self, first: I64, until: I64) -> bool:
        """Return whether a product of the second round reads what the first one made behind it."""
        before = {self._calls.at(place).result for place in range(until[0], first[1])}
        made = {self._calls.at(place).result for place in range(first[1], until[1])}
        for place in range(until[1], first[2]):
            call = self._calls.at(place)
            key = call.reads[0] if call.reads else None
            multiplies = self._multiplies[self._calls.call[place]]
            if multiplies and key in before and key not in made:
                return True
            made.add(call.result)
        return False


def _varies(trace: Trace, row: int, call: Call) -> bool:
    """Return whether an operator gives another result each time, or keeps a state."""
    at = _TRAINS_AT.get(call.word)
    if at is None:
        return is_random(call.word)
    known = read_call(trace, row)
    return known is None or known.value(at) != "False"


def _may_make(call: Call, key: Key, *, cuts: bool) -> bool:
    """Return whether a call may make, cut or write a tensor of these elements and type."""
    size, dtype = key
    if call.writes:
        return not call.reads or call.reads[0] == key
    if call.result is not None:
        return call.result == key and not (call.word in VIEWS and key in call.reads[:1])
    if dtype not in FLOATING and not call.may_number:
        return False
    read = sum(elements for elements, _ in call.reads)
    return read > size if cuts else call.word not in WHOLE and read >= size
