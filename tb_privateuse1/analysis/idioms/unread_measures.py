"""Find what a training pass computes of its own results for no gradient: metrics, statistics.

Autograd does not record such operators, or no backward pass goes through them. They read what the
forward pass has made, and nothing that has a part in the loss reads them. Tensors are known by
elements and type: whatever reads such a key may read any tensor of it that was made in the pass.
Nothing is said of what may be a state: of what is written to a tensor from outside, read by the
next pass, or copied to the host in several numbers; nor of layers, which are a part of a model, nor
of what may begin a backward pass. A pass that reads more tensors of a size than it has made reads
one from outside.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Set

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
from tb_privateuse1.analysis.steps.training_phases import BACKWARD, find_passes, phase_kinds
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import latest_not_after, mask_of
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64
from tb_privateuse1.trace.work_kinds import COPY_TO_HOST

_MOST = 10_000
"""Operators of the passes that are looked through: as many as one question of followed calls."""
_NODE = 4
"""Rows of a node that may read its gradient first: its own two, and views."""
_FEWEST = 2
"""Passes: one whose results the next one might read."""
_ORDERS = ("sort", "argsort", "msort")
_CHOICES = ("max", "min", "argmax", "argmin", "median", "mode")
_SPREADS = ("std", "var", "std_mean", "var_mean", "linalg_vector_norm")
_READS_NUMBER = ("item", "local_scalar_dense", "is_nonzero")
_PRODUCTS = ("gemm", "convolution", "attention", "recurrent")
"""Kinds of work of layers: parts of a model, whatever is done with their results."""
_MOVES = ("to", "to_copy", "copy")
_AT_MOST = "<="
"""The type in the key of a result that is not known: it has no more elements than what is read."""
_CUTS = {"select", "slice", "narrow", "expand"}
_KEEPS_SIZE = (*VIEWS - _CUTS, "flatten", "resolve_conj", "resolve_neg")


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
    if graph is None or not graph.any() or not len(chosen):
        return none
    # Other threads have no pass of their own.
    chosen = chosen[calls.thread[chosen] == calls.thread[graph][0]]
    parts = np.split(chosen, np.flatnonzero(np.diff(at[chosen])) + 1)
    parts = parts[: int(np.searchsorted(np.cumsum([len(part) for part in parts]), _MOST))]
    if len(parts) < _FEWEST:
        return none
    begun = passes.backward_ns[[at[part[0]] for part in parts]]
    seeds, to_host = _seeds(trace, begun), _to_host(trace)
    # Equal passes have equal measures: steps repeat.
    numbers: list[int] = []
    known: dict[tuple[bytes, ...], int] = {}
    measures: list[_Measures] = []
    for part, seed in zip(parts, seeds, strict=True):
        before = start_ns[part] < passes.backward_ns[at[part[0]]]
        flags = (before & graph[part], before, np.isin(calls.rows[part], to_host))
        key = (calls.call[part].tobytes(), *map(bytes, flags), str(seed).encode())
        if known.setdefault(key, len(measures)) == len(measures):
            measures.append(_Measures(trace, calls, part, part[flags[0]]))
            measures[-1].read_size(seed)
        numbers.append(known[key])
    own = [one.needed_later(set(one.unread())) for one in measures]
    gone: dict[tuple[int, int], I64] = {}
    rows: list[I64] = []
    reads = 0
    # Behind the last pass, the next one is taken to be as it was.
    for part, pair in zip(parts, itertools.pairwise([*numbers, numbers[-1]]), strict=True):
        if pair not in gone:
            one = measures[pair[0]]
            found = one.unread(*one.read_later(own[pair[1]]))
            gone[pair] = np.searchsorted(one.part, np.array(sorted(found), np.int64))
        places = part[gone[pair]]
        rows.append(places[start_ns[places] < passes.backward_ns[at[part[0]]]])
        reads += sum(calls.at(place).word in _READS_NUMBER for place in places.tolist())
    return UnreadMeasures(np.sort(calls.rows[np.concatenate(rows)]), reads)


def _seeds(trace: Trace, backward_ns: I64) -> list[int]:
    """Return the elements of what each backward pass begins with, or 1.

    It is the first tensor that an operator of its first node reads.
    """
    ops = trace.ops
    nodes = np.flatnonzero(phase_kinds(trace) == BACKWARD)
    nodes = nodes[np.argsort(ops.start_ns[nodes], kind="stable")]
    first = nodes[np.searchsorted(ops.start_ns[nodes], backward_ns)]
    # What a node calls follows it.
    found = []
    for node in first.tolist():
        end = int(np.searchsorted(ops.start_ns[node : node + _NODE], ops.end_ns[node]))
        read = (read_call(trace, row) for row in range(node + 1, node + end))
        sizes = (one.numel for call in read if call for one in call.tensors())
        found.append(next(sizes, 1))
    return found


@memoize
def _to_host(trace: Trace) -> I64:
    """Return the outermost operators that copy to the host."""
    copies = groupby.named_rows(trace.strings, trace.kernels.name, re.compile(COPY_TO_HOST).search)
    ops = groupby.distinct_values(trace.kernels.op[copies])
    outermost = mask_of(outermost_calls(trace).rows, len(trace.ops))
    return call_tree.around(trace.ops.parent, ops[ops >= 0], outermost)


Read = tuple[Key, int]
"""A key that is read, and how many measures had made it before."""


class Later(Struct, frozen=True):
    """Tensors that a pass may read of the one before."""

    sizes: frozenset[int]
    """Of floating numbers it reads more tensors than it has made."""
    whole: frozenset[Key]
    """Other tensors that it reads, as labels."""


class _Measures:
    """Tensors that a pass makes, by key, and those that somebody needs.

    ``part`` has the pass and what follows it, ``graph`` the places that have a part in the loss.
    """

    def __init__(self, trace: Trace, calls: OutermostCalls, part: I64, graph: I64) -> None:
        self._trace, self._calls, self.part = trace, calls, part
        self._to_host = frozenset(_to_host(trace).tolist())
        self._graph: set[Key] = set()
        self._makers: dict[Key, list[int]] = defaultdict(list)
        self._kinds: dict[int, set[Key]] = defaultdict(set)
        self._unknown: set[Key] = set()
        self._inputs: dict[int, list[Read]] = {}
        self._needed: list[int] = []
        self._read: list[Read] = []
        last, wanted = int(graph.max(initial=NONE)), set(graph.tolist())
        for place in part.tolist():
            call = calls.at(place)
            if place in wanted or (not call.reads and call.result is None):
                # An operator of its own, or a function of autograd, is not known by name.
                self._read += self._own(call.reads or self._recorded(place))
                self._graph.update(self._made(place, call))
            else:
                self._follow(place, call, is_before=place < last)

    def _follow(self, place: int, call: Call, *, is_before: bool) -> None:
        """Note an operator without a gradient; ``is_before`` another one with it follows."""
        own = self._own(call.reads)
        if self._kind(place) in _PRODUCTS:
            self._read += own
            return
        if not own and not any(key in self._graph for key in call.reads):
            return
        made = self._made(place, call)
        self._inputs[place] = own
        if self._keeps(place, call) or (is_before and not made):
            self._needed.append(place)
        reads_number = call.word in _READS_NUMBER
        if not made and not reads_number:
            # Few bounds, so that few are looked at: the next power of two.
            made = [(2 ** max(size for size, _ in call.reads).bit_length(), _AT_MOST)]
            self._unknown.update(made)
        for key in made:
            self._makers[key].append(place)
            self._kinds[key[0]].add(key)

    def _kind(self, place: int) -> str:
        trace = self._trace
        return kind_of(trace.text(trace.ops.name[self._calls.rows[place]]), trace.vendor)

    def _own(self, keys: Iterable[Key]) -> list[Read]:
        """Return the measures that may be read by these keys; the types of a list are unknown."""
        found: set[Key] = set()
        for size, kind in keys:
            same = self._kinds.get(size, ())
            found.update(key for key in same if kind in ("", key[1]))
            found.update(key for key in self._unknown if size <= key[0])
        return [(key, len(self._makers[key])) for key in found]

    def _recorded(self, place: int) -> list[Key]:
        """Return the keys that an operator of unknown kind has as recorded inputs."""
        call = read_call(self._trace, int(self._calls.rows[place]))
        return [] if call is None else [(one.numel, one.dtype) for one in call.tensors()]

    def read_size(self, size: int) -> None:
        """Note that something else reads numbers of this size, if they are several."""
        if size > 1:
            self._read += self._own((size, kind) for kind in FLOATING)

    def _keeps(self, place: int, call: Call) -> bool:
        """Return whether an operator writes to what was there before, or moves several numbers."""
        if not call.reads or call.reads[0][0] == 1 or call.word in VIEWS:
            return False
        if call.writes:
            # One of as many numbers may be what an earlier step has left.
            return call.reads[0] in call.reads[1:] or not self._own(call.reads[:1])
        row = int(self._calls.rows[place])
        if row in self._to_host:
            return True
        parents = self._trace.ops.parent
        works = row + 1 < len(parents) and int(parents[row + 1]) == row
        return call.word in _MOVES and works and call.result == call.reads[0]

    def needed_later(self, unread: set[int]) -> Later:
        """Return what the pass reads of earlier ones, but for measures that nobody reads."""
        read: Counter[int] = Counter()
        made: Counter[int] = Counter()
        outside: set[int] = set()
        whole: set[Key] = set()
        for place in self.part.tolist():
            if place in unread:
                continue
            call = self._calls.at(place)
            whole.update(key for key in call.reads if key[0] > 1 and key[1] not in FLOATING)
            sizes = [size for size, kind in states_read(call) if kind in ("", *FLOATING)]
            for size in sizes:
                read[size] += 1
            outside.update(size for size in sizes if read[size] > made[size])
            for size in {size for size, _ in self._result_of(place, call)}:
                made[size] += 1
        return Later(frozenset(outside), frozenset(whole))

    def read_later(self, later: Later) -> tuple[list[int], list[Read]]:
        """Return what the next pass may read of this one: measures, and all of some sizes."""
        needed = self._numbers() if 1 in later.sizes else []
        # Labels have the sizes of answers: one that is compared with them is none itself.
        needed += self._left(later.whole)
        return needed, self._own((s, kind) for s in later.sizes - {1} for kind in FLOATING)

    def _result_of(self, place: int, call: Call) -> list[Key]:
        """Return the keys of a result; one of unknown size may be a number, as losses are."""
        return self._made(place, call) or [(1, "")]

    def _numbers(self) -> list[int]:
        """Return measures of one number that are written in place, or that no other one reads."""
        keys = {(1, kind) for kind in FLOATING}
        single = {place for key in keys for place in self._makers.get(key, ())}
        return [*self._left(keys), *(one for one in single if self._calls.at(one).writes)]

    def _left(self, keys: Set[Key]) -> list[int]:
        """Return measures with such keys, or with unknown ones, that no other one reads."""
        read: set[int] = set()
        until: Counter[Key] = Counter()
        for key, count in itertools.chain.from_iterable(self._inputs.values()):
            until[key] = max(until[key], count)
        for key, count in until.items():
            read.update(self._makers[key][:count])
        made = self._makers.items()
        wanted = {one for key, own in made if key in keys or key[1] == _AT_MOST for one in own}
        return list(wanted - read)

    def unread(self, later: Iterable[int] = (), reads: Iterable[Read] = ()) -> list[int]:
        """Return the measures that nobody needs, and those made for them alone."""
        read: set[int] = set()
        until: Counter[Key] = Counter()
        needed, keys = [*self._needed, *later], [*self._read, *reads]
        while needed or keys:
            while keys:
                key, count = keys.pop()
                needed += self._makers[key][until[key] : count]
                until[key] = max(until[key], count)
            while needed:
                place = needed.pop()
                if place in self._inputs and place not in read:
                    read.add(place)
                    keys += self._inputs[place]
        return [place for place in self._inputs if place not in read]

    def _made(self, place: int, call: Call) -> list[Key]:
        """Return the keys of what an operator returns; none if they are not known."""
        if call.result is not None:
            return [call.result]
        if not call.reads:
            return []
        if call.word in _KEEPS_SIZE:
            return list(call.reads[:1])
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
