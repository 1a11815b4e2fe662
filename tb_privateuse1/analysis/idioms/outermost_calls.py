"""The outermost operators by thread and time, each with what it reads and returns.

A tensor is known by elements and type: views keep both.
"""

from __future__ import annotations

import functools
from collections import defaultdict

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.result_tensors import (
    FACTORIES,
    VIEWS,
    is_random,
    result_of,
    writes_first,
)
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.steps.training_phases import BACKWARD, STEPPING, phase_kinds
from tb_privateuse1.analysis.work.arguments import Arguments
from tb_privateuse1.analysis.work.calls import group_calls, read_call, read_calls
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import lookup, starts_run
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I32, I64, Bools

Key = tuple[int, str]
"""Elements and type."""

FLOATING = ("float64", "float32", "float16", "bfloat16")
"""Types of weights and of what is computed with them."""
_KEEPS_TYPE = (
    "attention", "convolution", "normalization", "pooling", "recurrent", "softmax_loss", "gemm",
    "copy", "view", "elementwise",
)  # fmt: skip
"""Kinds of work whose result is of the type of the inputs: an index or a count is none of these."""
_OF_FLOATING = frozenset((
    "mean", "var", "std", "norm", "linalg_norm", "linalg_vector_norm", "logsumexp",
))  # fmt: skip
"""Reductions that torch defines for floating types alone, and whose results have these."""
_NUMBER = "float64"
"""The type of a tensor without dimensions that stands for a number of Python, not recorded."""


class Call(Struct, frozen=True):
    """A distinct call: what it reads and returns."""

    word: str
    reads: tuple[Key, ...]
    result: Key | None
    is_factory: bool
    is_pure: bool
    writes: bool
    has_number: bool
    """One of its inputs is a number that is not recorded."""
    may_number: bool
    """Its result is not known, and may be of whole numbers or truth values."""
    pairs_up: bool
    """Its result has more elements than any input: one for each pair of two vectors'."""


class OutermostCalls:
    """The outermost operators by thread and start, with their calls."""

    def __init__(self, trace: Trace) -> None:
        ops = trace.ops
        kinds = phase_kinds(trace)
        rows = np.flatnonzero(groupby.outermost_operators(ops))
        self.rows: I64 = rows[np.lexsort((ops.start_ns[rows], ops.thread[rows]))]
        rows = self.rows
        self.first, self.call = group_calls(trace, rows, ("name", "shapes", "dtypes", "concrete"))
        self.thread = ops.thread[rows]
        phase = call_tree.around(ops.parent, ops.parent[rows], kinds == STEPPING) >= 0
        self.ends = (kinds[rows] == BACKWARD) | phase
        """No constant is followed past these: the backward pass and the optimizer."""
        self.records = _records(ops.sequence[rows], self.thread)
        names = map(trace.text, ops.name[rows[self.first]].tolist())
        read = read_calls(trace, rows[self.first])
        self.calls = [_read(trace, *one) for one in zip(names, read, strict=True)]
        """By the numbers of ``call``."""
        self._ends = np.flatnonzero(self.ends)
        self._threads = np.flatnonzero(starts_run(self.thread))

    def at(self, i: int) -> Call:
        """Return the call of an operator, by its place in ``rows``."""
        return self.calls[int(self.call[i])]

    @functools.cached_property
    def listed(self) -> tuple[list[int], list[bool]]:
        """Return ``call`` and ``records`` as lists, for loops over them."""
        return self.call.tolist(), self.records.tolist()

    def stops(self, starts: I64) -> I64:
        """Return by place the first one from it on that ends what is followed, or the length.

        It is of the backward pass, of an optimizer, or of another thread.
        """
        count = len(self.rows)
        end = np.searchsorted(self._ends, starts)
        other = np.searchsorted(self._threads, starts, side="right")
        return np.minimum(lookup(self._ends, end, count), lookup(self._threads, other, count))

    def made(self) -> dict[Key, set[int]]:
        """Return the calls that have a new result of each size and type, but for optimizers.

        Views have none.
        """
        made: dict[Key, set[int]] = defaultdict(set)
        for number in np.unique(self.call[~self.ends]).tolist():
            call = self.calls[number]
            if call.result is not None and call.word not in VIEWS:
                made[call.result].add(number)
        return made

    def named(self, *words: str) -> Bools:
        """Return which operators have one of these reduced names."""
        wanted = np.array([one.word in words for one in self.calls] or [False], np.bool_)
        return wanted[self.call]


@memoize
def outermost_calls(trace: Trace) -> OutermostCalls:
    """Return the outermost operators of a trace."""
    return OutermostCalls(trace)


def _word(name: str) -> str:
    return reduced_name(name).strip("_")


def _records(sequence: I64, thread: I32) -> Bools:
    """Return which operators autograd records: the next one has another sequence number."""
    known = np.flatnonzero(sequence >= 0)
    found = np.zeros(len(sequence), np.bool_)
    before, behind = known[:-1], known[1:]
    same = thread[before] == thread[behind]
    found[before] = same & (sequence[behind] > sequence[before])
    return found


def _read(trace: Trace, name: str, call: Arguments | None) -> Call:
    word = _word(name)
    if call is None or not name.startswith("aten::"):
        return Call(word, (), None, False, False, True, False, call is not None, False)
    tensors = list(call.tensors())
    reads = tuple((one.numel, one.dtype) for one in tensors if one.shape or one.dtype != _NUMBER)
    result = result_of(call, word)
    is_pure = result is not None and not is_random(word)
    if word.endswith("_like"):
        reads = ()  # of their input only the shape counts
    is_factory = is_pure and not reads and (word in FACTORIES or word.endswith("_like"))
    return Call(
        word=word,
        reads=reads,
        result=None if result is None else (result.numel, result.dtype),
        is_factory=is_factory,
        is_pure=is_pure and bool(reads),
        writes=writes_first(call),
        may_number=result is None
        and (
            any(dtype not in FLOATING for _, dtype in reads)
            or (word not in _OF_FLOATING and kind_of(name, trace.vendor) not in _KEEPS_TYPE)
        ),
        has_number=len(reads) < len(tensors) and not word.endswith("_like"),
        pairs_up=len(reads) > 1
        and result is not None
        and result.numel > max(elements for elements, _ in reads),
    )


NEAR = 64
"""Operators behind one that may read its result."""


class LaterCalls:
    """The outermost operators with shapes by thread and start, with their inputs.

    All of them, if the recording has no shapes at all.

    It takes 4 ms of a million events, so that no analysis keeps it: kept arrays made the allocator
    return memory of later ones, which took 0.2 s.
    """

    def __init__(self, trace: Trace) -> None:
        ops = trace.ops
        # The table is by thread and start.
        shaped = ops.shapes >= 0
        outer = groupby.outermost_operators(ops)
        self.rows: I64 = np.flatnonzero(outer & shaped if shaped.any() else outer)
        self._trace = trace
        self._name = ops.name[self.rows]
        self._words = {
            name: reduced_name(trace.text(name))
            for name in groupby.distinct_values(self._name).tolist()
        }

    def named(self, *words: str) -> I64:
        """Return the places among ``rows`` of operators with one of these reduced names."""
        names = [name for name, word in self._words.items() if word in words]
        if not names:
            return np.empty(0, np.int64)
        return np.flatnonzero(np.isin(self._name, names))

    def distinct(self, places: I64) -> tuple[I64, I64]:
        """Return one place of each distinct call among places, and each place's number of it."""
        ops, rows = self._trace.ops, self.rows[places]
        first, call = groupby.group_rows(ops.name[rows], ops.shapes[rows], ops.dtypes[rows])
        return places[first], call

    def call(self, at: int) -> Arguments | None:
        """Return the inputs of the operator at a place among ``rows``; None if unknown."""
        return read_call(self._trace, int(self.rows[at]))

    def behind(self, at: int) -> range:
        """Return the places of the operators behind one of the same thread."""
        last = min(at + 1 + NEAR, len(self.rows))
        thread = self._trace.ops.thread[self.rows[at:last]]
        return range(at + 1, at + int(np.argmin(np.append(thread == thread[0], False))))
