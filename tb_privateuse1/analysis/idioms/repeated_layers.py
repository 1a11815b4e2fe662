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
from tb_privateuse1.trace.columns import starts_run, sums_before
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools

_ROUNDS = 4
"""Equal rounds: fewer calls of a layer may be of a few batches, such as true and made pictures."""
_MOST = 16
"""Pairs of sizes that are followed, those with the largest inputs: each takes a pass."""
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
    sizes = _sizes(trace, operators)
    call = operators.call[places]
    pairs, pair = groupby.group_rows(sizes.first[call], sizes.result[call])
    starts = np.flatnonzero(starts_run(part))[part]
    found = [np.empty(0, np.int64)]
    for one in np.argsort(-sizes.first[call[pairs]], kind="stable")[:_MOST].tolist():
        reads, made = (int(size[call[pairs[one]]]) for size in (sizes.first, sizes.result))
        loops = _Loops(operators, sizes, starts, reads, made)
        found.append(loops.repeated(places[pair == one], group[pair == one]))
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


class _Loops:
    """Calls of layers that read and make tensors of two sizes, and who else makes or reads such.

    ``starts`` has by place the first one of its part: a thread's, up to a step or a backward pass.
    """

    def __init__(
        self, operators: OutermostCalls, sizes: _Sizes, starts: I64, reads: int, made: int
    ) -> None:
        self._starts, self._call, self._size = starts, operators.call, reads
        self._is_result = ~sizes.is_view & (sizes.result == reads)
        layers, views = operators.named("linear"), sizes.is_view & (sizes.first == made)
        behind = np.append(views[operators.call[1:]], False)
        # Layers whose result is directly viewed, as heads.
        keys = layers & (sizes.result == made)[operators.call] & behind
        makes = _makes(sizes, reads)[operators.call] & ~operators.ends
        makes &= ~(keys & (sizes.first == reads)[operators.call])
        self._ends = np.flatnonzero(makes)
        attention = [one.word == _ATTENTION for one in operators.calls]
        works = (
            ~sizes.is_view
            & ~np.array(attention)
            & ~np.array([one.word == "linear" for one in operators.calls])
        )
        works &= np.array([any(size == reads for size, _ in one.reads) for one in operators.calls])
        self._works = sums_before(works[operators.call])
        self._keys = sums_before(keys)
        self._attended = [
            (parts, sums_before(_attended(operators, size)[operators.call]))
            for size, parts in ((made, 1), (made // 2, 2))
        ]

    def repeated(self, places: I64, group: I64) -> I64:
        """Return the places of equal calls, by group, that find their input as it was."""
        order = np.lexsort((places, group))
        run = np.searchsorted(self._ends, places)
        _, own = groupby.group_rows(group, run)
        own = np.where(np.bincount(own, minlength=1)[own] >= _ROUNDS, own, -1)
        found = [np.empty(0, np.int64)]
        kept = order[own[order] >= 0]
        for _, members in groupby.split_by_value(own[kept]):
            calls = places[kept[members]]
            if self._is_loop(calls) and self._attends(calls):
                found.append(calls[1:])
        return np.concatenate(found)

    def _is_loop(self, places: I64) -> bool:
        """Return whether calls are those of equal rounds on what was made once ahead of them."""
        gaps, first = np.diff(places), int(places[0])
        start = int(self._starts[first])
        at = int(np.searchsorted(self._ends, first)) - 1
        maker = int(self._ends[at]) if at >= 0 else -1
        if maker < start or np.sum(gaps == np.median(gaps)) < _ROUNDS - 1:
            return False
        made = self._call[maker]
        if not self._is_result[made] or self._works[maker + 1] < self._works[first]:
            return False
        return int(np.sum(self._call[start:first] == made)) < len(places)

    def _attends(self, places: I64) -> bool:
        """Return whether attention reads all keys and values of a loop, and no others."""
        first, last = int(places[0]), int(places[-1])
        count = int(self._keys[last] - self._keys[first])
        return count > 0 and any(
            count * parts == int(read[last] - read[first]) for parts, read in self._attended
        )


def _makes(sizes: _Sizes, elements: int) -> Bools:
    """Return by distinct call whether it may make or write a tensor of this many elements."""
    other_view = sizes.is_view & (sizes.first != elements) & ~sizes.is_whole
    unknown = (sizes.result < 0) & (
        sizes.may_expand
        | (~sizes.is_view & (sizes.total >= elements))
        | (other_view & (sizes.first > elements))
    )
    same_view = sizes.is_view & (sizes.first == elements)
    made: Bools = unknown | ((sizes.result == elements) & ~same_view)
    made |= sizes.writes & ((sizes.first == elements) | (sizes.first == 0))
    return made


def _attended(operators: OutermostCalls, elements: int) -> I64:
    """Return by distinct call how many keys and values it reads, with queries of another size."""
    found = [
        sum(size == elements for size, _ in one.reads[1:3])
        if one.word == _ATTENTION and one.reads and one.reads[0][0] != elements
        else 0
        for one in operators.calls
    ]
    return np.array(found, np.int64)
