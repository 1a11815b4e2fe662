"""Find keys and values that each round of a loop computes anew from the same tensor.

A decoder that projects what an encoder made for each word does it once too often for all words but
one. The layer is known by the frame of its module, so that its weight is the same. Its input is
known by its elements: something makes it ahead of the loop, and nothing in the loop makes, cuts or
writes as many. Layers in the loop may, as all that they make is read as keys and values.

One layer for a list of tensors looks alike. So the queries must be of another size, and what makes
the input is called fewer times ahead of the loop than the loop has rounds.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.needed_inputs import VIEWS
from tb_privateuse1.analysis.idioms.outermost_calls import OutermostCalls, outermost_calls
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.operators.module_of import frame_modules, has_modules
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import starts_run
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools

_ROUNDS = 4
"""Equal rounds: fewer calls of a layer may be of a few batches, such as true and made pictures."""
_MOST = 500_000
"""Operators that are looked at, for the layers with the largest inputs: some 5 ms."""
_MODULE = "nn.Module: Linear_"
"""torch's own layer: a class of the program may take one of several weights in each call."""
_WHOLE = VIEWS | {"squeeze", "lift_fresh", "broadcast_to"}
"""Operators that give all elements of their input."""
_LESS = ("reduction", "view", "softmax_loss")
_LESS_WORDS = ("cat", "concat", "stack", "topk", "sort", "argsort", "item", "local_scalar_dense",
               "multinomial", "isin")  # fmt: skip
"""Kinds of work and operators whose results have no more elements than all inputs together."""
_ATTENTION = "scaled_dot_product_attention"


class _Sizes(Struct, frozen=True, eq=False):
    """By distinct call, elements: of the result, of the first input and of all; what it is."""

    result: I64
    """-1 if it is not known."""
    first: I64
    total: I64
    is_view: Bools
    is_whole: Bools
    writes: Bools
    may_expand: Bools
    """Its result is not known, and may be larger than all inputs together."""


@memoize
def repeated_layers(trace: Trace) -> I64:
    """Return the rows of ``trace.ops`` of layers that repeat what an earlier round has computed.

    Without frames of modules there are none: layers of a model look like rounds of a loop.
    A backward pass or an optimizer's step ends a loop, and so does another step or thread.
    """
    if not has_modules(trace) or not (trace.ops.shapes >= 0).any():
        return np.empty(0, np.int64)
    operators = outermost_calls(trace)
    layers = [one.word == "linear" and one.result is not None for one in operators.calls]
    places = np.flatnonzero(np.array(layers or [False])[operators.call] & ~operators.ends)
    if len(places) < _ROUNDS or not operators.named(_ATTENTION).any():
        return np.empty(0, np.int64)
    rows = operators.rows[places]
    module = frame_modules(trace, trace.ops.frame[rows])
    own = call_tree.starts_with(trace, _MODULE)[module] & (module != NONE)
    places, rows, module = places[own], rows[own], module[own]
    step = trace.ops.step[operators.rows]
    part = np.cumsum(starts_run(operators.thread, step) | operators.ends) - 1
    call = operators.call[places]
    _, group = groupby.group_rows(part[places], module, call, trace.ops.strides[rows])
    many = np.bincount(group, minlength=1) >= _ROUNDS
    places, group = places[many[group]], group[many[group]]
    if not len(places):
        return np.empty(0, np.int64)
    loops = _Loops(operators, _sizes(trace, operators), np.flatnonzero(starts_run(part)), part)
    groups = [places[members] for _, members in groupby.split_by_value(group)]
    groups.sort(key=loops.elements, reverse=True)
    found, left = [np.empty(0, np.int64)], _MOST
    for one in groups:
        left -= int(one[-1]) - loops.first_of(one)
        if left < 0:
            break
        found.append(loops.repeated(one))
    return operators.rows[np.unique(np.concatenate(found))]


def _sizes(trace: Trace, operators: OutermostCalls) -> _Sizes:
    calls = operators.calls
    names = trace.ops.name[operators.rows[operators.first]].tolist()
    kinds = [kind_of(trace.text(name), trace.vendor) for name in names]
    reads = [[size for size, _ in one.reads] for one in calls]
    less = [
        bool(sizes) and (kind in _LESS or call.word in _LESS_WORDS)
        for kind, call, sizes in zip(kinds, calls, reads, strict=True)
    ]
    return _Sizes(
        result=np.array([-1 if one.result is None else one.result[0] for one in calls], np.int64),
        first=np.array([sizes[0] if sizes else 0 for sizes in reads], np.int64),
        total=np.array([sum(sizes) for sizes in reads], np.int64),
        is_view=np.array([kind == "view" for kind in kinds], np.bool_),
        is_whole=np.array([one.word in _WHOLE for one in calls], np.bool_),
        writes=np.array([one.writes for one in calls], np.bool_),
        may_expand=np.array([one.result is None for one in calls], np.bool_) & ~np.array(less),
    )


class _Loops(Struct, frozen=True, eq=False):
    """The calls, with the first place of each part: a thread's, up to a step or a backward pass."""

    operators: OutermostCalls
    sizes: _Sizes
    starts: I64
    part: I64

    def first_of(self, places: I64) -> int:
        """Return the first place of the part that places are in."""
        return int(self.starts[self.part[places[0]]])

    def elements(self, places: I64) -> int:
        """Return the elements that a layer at places reads."""
        return self.operators.at(int(places[0])).reads[0][0]

    def repeated(self, places: I64) -> I64:
        """Return the places of one layer's equal calls that find their input as it was."""
        layer, elements = self.operators.at(int(places[0])), self.elements(places)
        if layer.result is None:
            return np.empty(0, np.int64)
        first, last = self.first_of(places), int(places[-1])
        call = self.operators.call[first : last + 1]
        keys = self._keys(layer.result[0], first, call)
        makes = self._makes(elements)[call]
        makes &= ~(keys & (self.sizes.first[call] == elements))
        ends = np.flatnonzero(makes & ~self.operators.ends[first : last + 1])
        run = np.searchsorted(ends, places - first)
        found = [np.empty(0, np.int64)]
        for _, members in groupby.split_by_value(run):
            own = places[members] - first
            if self._is_loop(own, ends, call, elements) and self._attends(
                call[own[0] : own[-1]], keys[own[0] : own[-1]], layer.result[0]
            ):
                found.append(places[members][1:])
        return np.concatenate(found)

    def _makes(self, elements: int) -> Bools:
        """Return by distinct call whether it may make or write a tensor of this many elements."""
        sizes = self.sizes
        other_view = sizes.is_view & (sizes.first != elements) & ~sizes.is_whole
        unknown = (sizes.result < 0) & (
            sizes.may_expand | (~sizes.is_view & (sizes.total >= elements)) |
            (other_view & (sizes.first > elements))
        )  # fmt: skip
        same_view = sizes.is_view & (sizes.first == elements)
        made: Bools = unknown | ((sizes.result == elements) & ~same_view)
        made |= sizes.writes & ((sizes.first == elements) | (sizes.first == 0))
        return made

    def _keys(self, made: int, first: int, call: I64) -> Bools:
        """Return which calls are layers whose result of a size is directly viewed, as heads."""
        behind = np.append(self.operators.call[first + 1 : first + len(call)], -1)
        views = np.append(self.sizes.is_view & (self.sizes.first == made), False)
        layers: Bools = self.operators.named("linear")[first : first + len(call)]
        layers &= (self.sizes.result[call] == made) & views[behind]
        return layers

    def _is_loop(self, own: I64, ends: I64, call: I64, elements: int) -> bool:
        """Return whether calls are those of equal rounds on what was made once ahead of them."""
        gaps = np.diff(own)
        if len(own) < _ROUNDS or np.sum(gaps == np.median(gaps)) < _ROUNDS - 1:
            return False
        at = int(np.searchsorted(ends, own[0])) - 1
        made = int(call[ends[at]]) if at >= 0 else -1
        if made < 0 or self.sizes.is_view[made] or self.sizes.result[made] != elements:
            return False
        if np.sum(call[: own[0]] == made) >= len(own):
            return False
        ahead = np.unique(call[ends[at] + 1 : own[0]]).tolist()
        return not any(self._reads(number, elements) for number in ahead)

    def _attends(self, call: I64, keys: Bools, made: int) -> bool:
        """Return whether attention reads all keys and values of a loop, and no others."""
        count = int(np.sum(keys))
        for size, parts in ((made, 1), (made // 2, 2)):
            read = [
                sum(elements == size for elements, _ in one.reads[1:3])
                if one.word == _ATTENTION and one.reads and one.reads[0][0] != size
                else 0
                for one in self.operators.calls
            ]
            if 0 < count * parts == int(np.sum(np.array(read, np.int64)[call])):
                return True
        return False

    def _reads(self, number: int, elements: int) -> bool:
        """Return whether a call, which is no layer or attention, works on so large a tensor."""
        one = self.operators.calls[number]
        if one.word in ("linear", _ATTENTION) or self.sizes.is_view[number]:
            return False
        return any(size == elements for size, _ in one.reads)
