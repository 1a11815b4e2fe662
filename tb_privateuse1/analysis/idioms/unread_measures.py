"""Find what a training pass computes of its own results for no gradient: metrics, statistics.

Autograd does not record such operators, or no backward pass goes through them. They read what the
forward pass has made, and nothing that has a part in the loss reads them. Tensors are known by
elements and type: whatever reads such a key may read any tensor of it that was made in the pass.
Nothing is said of what may be a state: of what is written to a tensor from outside, read by the
next pass, or copied to the host in several numbers; nor of layers, which are a part of a model.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.outermost_calls import (
    FLOATING,
    Call,
    Key,
    OutermostCalls,
    outermost_calls,
)
from tb_privateuse1.analysis.idioms.prepared_weights import states_read
from tb_privateuse1.analysis.idioms.result_tensors import VIEWS
from tb_privateuse1.analysis.idioms.unread_results import with_gradient
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace.columns import latest_not_after
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64

_MOST = 10_000
"""Operators of the passes that are looked through: as many as one question of followed calls."""
_FEWEST = 2
"""Passes: one whose results the next one might read."""
_ORDERS = ("sort", "argsort", "msort")
_CHOICES = ("max", "min", "argmax", "argmin", "median", "mode")
_SPREADS = ("std", "var", "std_mean", "var_mean", "linalg_vector_norm")
_READS_NUMBER = ("item", "local_scalar_dense", "is_nonzero")
_PRODUCTS = ("gemm", "convolution", "attention", "recurrent")
"""Kinds of work of layers: parts of a model, whatever is done with their results."""
_MOVES = ("to", "to_copy", "copy")


class UnreadMeasures(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` that compute measures, and how many numbers the host reads of them."""

    rows: I64
    reads: int


@memoize
def unread_measures(trace: Trace) -> UnreadMeasures:
    """Return the operators whose results no gradient needs, nor a later pass."""
    none = UnreadMeasures(np.empty(0, np.int64), 0)
    passes = find_passes(trace)
    if not len(passes.backward_ns) or not (trace.ops.shapes >= 0).any():
        return none
    calls = outermost_calls(trace)
    start_ns = trace.ops.start_ns[calls.rows]
    # The first linked operator of a pass may be one that an outermost one calls.
    at = latest_not_after(passes.forward_ns, trace.ops.end_ns[calls.rows])
    chosen = np.flatnonzero((at >= 0) & ~calls.ends)
    graph = with_gradient(trace, calls)
    if graph is None or not len(chosen):
        return none
    # Other threads have no pass of their own.
    chosen = chosen[calls.thread[chosen] == calls.thread[graph][0]]
    parts = np.split(chosen, np.flatnonzero(np.diff(at[chosen])) + 1)
    parts = parts[: int(np.searchsorted(np.cumsum([len(part) for part in parts]), _MOST))]
    if len(parts) < _FEWEST:
        return none
    measures: list[_Measures] = []
    for part in parts:
        before = part[start_ns[part] < passes.backward_ns[at[part[0]]]]
        measures.append(_Measures(trace, calls, part, before[graph[before]]))
    own = [set(one.unread()) for one in measures]
    rows: list[int] = []
    reads = 0
    # Behind the last pass, the next one is taken to be as it was.
    nexts = zip([*parts[1:], parts[-1]], [*own[1:], own[-1]], strict=True)
    for part, one, (later, others) in zip(parts, measures, nexts, strict=True):
        one.read_later([place for place in later.tolist() if place not in others])
        gone = one.unread()
        until_ns = passes.backward_ns[at[part[0]]]
        rows += [place for place in gone if start_ns[place] < until_ns]
        reads += sum(calls.at(place).word in _READS_NUMBER for place in gone)
    return UnreadMeasures(np.sort(calls.rows[np.array(rows, np.int64)]), reads)


class _Measures:
    """Results of a pass by key, and those that somebody needs.

    ``part`` has the pass and what follows it, ``graph`` the places that have a part in the loss.
    """

    def __init__(self, trace: Trace, calls: OutermostCalls, part: I64, graph: I64) -> None:
        self._trace, self._calls = trace, calls
        self._graph: set[Key] = set()
        self._makers: dict[Key, list[int]] = defaultdict(list)
        self._inputs: dict[int, list[int]] = {}
        self._needed: list[int] = []
        last, wanted = int(graph.max(initial=NONE)), set(graph.tolist())
        for place in part.tolist():
            call = calls.at(place)
            if place in wanted:
                self._needed += self._own(call.reads)
                self._graph.update(self._made(place, call))
            else:
                self._follow(place, call, is_before=place < last)

    def _follow(self, place: int, call: Call, *, is_before: bool) -> None:
        """Note an operator without a gradient; ``is_before`` another one with it follows."""
        own = self._own(call.reads)
        if self._kind(place) in _PRODUCTS:
            self._needed += own
            return
        if not own and not any(key in self._graph for key in call.reads):
            return
        made = self._made(place, call)
        self._inputs[place] = own
        if self._keeps(place, call) or (is_before and not made):
            self._needed.append(place)
        for key in made:
            self._makers[key].append(place)

    def _kind(self, place: int) -> str:
        trace = self._trace
        return kind_of(trace.text(trace.ops.name[self._calls.rows[place]]), trace.vendor)

    def _own(self, keys: Iterable[Key]) -> list[int]:
        """Return the measures that may be read by these keys; the types of a list are unknown."""
        found: list[int] = []
        for size, kind in keys:
            for key, makers in self._makers.items():
                if key[0] == size and kind in ("", key[1]):
                    found += makers
        return found

    def _keeps(self, place: int, call: Call) -> bool:
        """Return whether an operator writes to what was there before, or moves several numbers."""
        if not call.reads or call.reads[0][0] == 1 or call.word in VIEWS:
            return False
        if call.writes:
            return not self._own(call.reads[:1])
        row = int(self._calls.rows[place])
        parents = self._trace.ops.parent
        works = row + 1 < len(parents) and int(parents[row + 1]) == row
        return call.word in _MOVES and works and call.result == call.reads[0]

    def read_later(self, later: list[int]) -> None:
        """Note what the next pass may read of this one: keys that it has not made itself.

        ``later`` are its places but for those of measures that nobody reads there, either.
        """
        made: set[Key] = set()
        for place in later:
            call = self._calls.at(place)
            # Labels have the sizes of answers, and are new in each pass.
            states = [key for key in states_read(call) if key not in made]
            self._needed += self._own(key for key in states if key[1] in ("", *FLOATING))
            made.update(self._made(place, call))

    def unread(self) -> list[int]:
        """Return the measures that nobody needs, and those made for them alone."""
        read: set[int] = set()
        needed = list(self._needed)
        while needed:
            place = needed.pop()
            if place in self._inputs and place not in read:
                read.add(place)
                needed += self._inputs[place]
        return [place for place in self._inputs if place not in read]

    def _made(self, place: int, call: Call) -> list[Key]:
        """Return the keys of what an operator returns; none if they are not known."""
        if call.result is not None:
            return [call.result]
        if not call.reads:
            return []
        kind = call.reads[0][1]
        try:
            size = self._size_of(place, call)
        except (UnknownWork, IndexError, ValueError, ZeroDivisionError):
            return []
        return [(size, kind), (size, "int64")]

    def _size_of(self, place: int, made: Call) -> int:
        """Return the elements of what is chosen or computed of each row."""
        call = read_call(self._trace, int(self._calls.rows[place]))
        if call is None or made.word not in (*_ORDERS, *_CHOICES, *_SPREADS, "topk", "gather"):
            raise UnknownWork
        if made.word == "gather":
            return call.tensor(2).numel
        x = call.tensor(0)
        if made.word in _ORDERS:
            return x.numel
        if made.word == "topk":
            return x.numel // x.shape[call.integer(2)] * call.integer(1)
        if made.word in _CHOICES:
            return x.numel // x.shape[call.integer(1)] if call.value(1) else 1
        if not call.value(1).startswith("["):
            return 1
        return x.numel // math.prod(x.shape[dim] for dim in call.integers(1))
