"""Follow a tensor from its maker to its readers, within a thread and a step.

No profiler records which tensor is which: one is known by its elements. So a question has an answer
only if nothing else of that size is read or made where that would matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.idioms.needed_inputs import (
    CASTS,
    VIEWS,
    Needs,
    needs_of,
    read_sizes,
)
from tb_privateuse1.analysis.idioms.outermost_calls import LaterCalls
from tb_privateuse1.analysis.idioms.result_tensors import result_of
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.work.arguments import Arguments, Tensor
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace.columns import mask_of, range_rows, starts_run, sums_before
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I32, I64, Bools

_MOST = 10_000
"""Operators that one question looks at: some 10 ms, of a second for all advice on a million."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
"""2 ** 64 by the golden ratio: multiples of it spread evenly (Knuth's multiplicative hash)."""
_SCALES = frozenset(("mul", "div", "true_divide"))
_WHOLE_VIEWS = VIEWS | {"expand", "expand_as", "lift_fresh", "contiguous"}
"""Views of all elements, whether their result is known or not."""


class Known(Struct, frozen=True):
    """A distinct call: what it reads and makes, as far as that is recorded."""

    call: Arguments
    word: str
    kind: str
    sizes: frozenset[int]
    """Elements of the tensors that it reads."""
    result: Tensor | None
    needs: Needs | None

    @property
    def is_view(self) -> bool:
        """Return whether its result has the elements of its first input, in some other shape."""
        return self.word in VIEWS or self.kind == "view"

    @property
    def passes(self) -> bool:
        """Return whether its result is its first input: a view of it, or in another type."""
        return self.is_view or self.word in CASTS

    @property
    def scales(self) -> bool:
        """Return whether it multiplies one tensor by a number."""
        tensors = [one for one in self.call.tensors() if one.shape]
        return self.word in _SCALES and len(tensors) == 1

    @property
    def made(self) -> int:
        """Return the elements of a new result; 0 if it makes none or they are not known."""
        if self.is_view:
            return 0
        if self.result is not None:
            return self.result.numel
        return 0 if self.needs is None else self.needs.result


class FollowedCalls:
    """The outermost operators with shapes by thread and start, parsed once for each distinct one.

    Equal sequences of a thread in several steps have equal answers, so that one of them is asked.
    A question looks at 10,000 operators; from then on it hears that nothing is known.
    """

    def __init__(self, trace: Trace) -> None:
        self._later = LaterCalls(trace)
        self.rows: I64 = self._later.rows
        self._trace, ops, rows = trace, trace.ops, self._later.rows
        begins = starts_run(ops.thread[rows], ops.step[rows])
        self._starts: I64 = np.append(np.flatnonzero(begins), len(rows))
        self._part: I64 = np.cumsum(begins) - 1
        self._call = _hashes(rows, ops.name, ops.shapes, ops.dtypes, ops.strides, ops.concrete)
        self._group, self._first = self._equal_parts()
        self._known: dict[int, Known | None] = {}
        self._left = _MOST

    def _equal_parts(self) -> tuple[I64, Bools]:
        """Return which sequences are equal, a number each, and which are the first of these."""
        starts, lengths = self._starts[:-1], np.diff(self._starts)
        if not len(starts):
            return np.empty(0, np.int64), np.empty(0, np.bool_)
        powers = np.multiply.accumulate(np.full(int(lengths.max()), _ODD, np.uint64))
        place = np.arange(len(self.rows)) - starts[self._part]
        whole = np.add.reduceat(self._call * powers[place], starts)
        _, first, group = np.unique(whole, return_index=True, return_inverse=True)
        return group, mask_of(first, len(starts))

    def named(self, *words: str) -> list[int]:
        """Return the places with one of these reduced names, and begin another question.

        Of equal sequences, those of the first one.
        """
        self._left = _MOST
        places = self._later.named(*words)
        found: list[int] = places[self._first[self._part[places]]].tolist()
        return found

    def everywhere(self, shares: Mapping[int, float]) -> tuple[I64, F64]:
        """Return the rows of ``trace.ops`` at places, and in equal sequences, with what they have.

        Both are in the order of the rows.
        """
        places = np.array(sorted(shares), np.int64)
        values = np.array([shares[place] for place in places.tolist()], np.float64)
        order = np.argsort(self._group, kind="stable")
        count = np.bincount(self._group, minlength=1)
        group = self._group[self._part[places]]
        own, part = range_rows(sums_before(count)[group], count[group])
        part = order[part]
        at = self._starts[part] + (places - self._starts[self._part[places]])[own]
        by_row = np.argsort(at, kind="stable")
        return self.rows[at[by_row]], values[own[by_row]]

    def at(self, place: int) -> Known | None:
        """Return the call at a place among ``rows``; None if its inputs are not known."""
        self._left -= 1
        if self._left < 0:
            return None
        key = int(self._call[place])
        if key not in self._known:
            self._known[key] = self._read(place)
        return self._known[key]

    def _read(self, place: int) -> Known | None:
        call = self._later.call(place)
        if call is None:
            return None
        kind, word = kind_of(call.name, self._trace.vendor), reduced_name(call.name).strip("_")
        return Known(call, word, kind, read_sizes(call), result_of(call, word),
                     needs_of(call, kind))  # fmt: skip

    def first_of(self, place: int) -> int:
        """Return the first place of the thread and step that a place is in."""
        return int(self._starts[self._part[place]])

    def maker(self, place: int, elements: int) -> int | None:
        """Return the place that made what one reads; None if another one reads it between them."""
        for one in range(place - 1, self.first_of(place) - 1, -1):
            known = self.at(one)
            if known is None:
                return None
            if known.made == elements and not known.passes:
                return one
            if elements in known.sizes and not known.passes:
                return None
        return None

    def behind(self, place: int) -> Iterator[tuple[int, Known | None]]:
        """Yield the places behind one of its thread and step, with their calls."""
        for one in range(place + 1, int(self._starts[self._part[place] + 1])):
            yield one, self.at(one)

    def readers(self, place: int, elements: int) -> list[int] | None:
        """Return the places that read a tensor of this many elements, made at a place.

        Views of all of it, and conversions of its type, are none. A view of a part is one, as what
        reads that has another size; so is a copy to somewhere else. It ends where such a tensor is
        made. None if an operator is not known.
        """
        found: list[int] = []
        for one, known in self.behind(place):
            if known is None:
                return None
            if elements in known.sizes and not (known.passes and self._is_whole(one, known)):
                found.append(one)
            if known.made == elements and not known.passes:
                break
        return found

    def is_read_beyond(self, place: int, elements: int) -> bool:
        """Return whether what is made at a place may be read where ``readers`` has ended.

        Once others of its size are made, a call that reads more of its type than were made since,
        itself or a conversion of it, reads an older one.
        """
        made: Counter[str] = Counter()
        own = self._types(place)
        for _, known in self.behind(place):
            if known is None:
                continue
            read = Counter(one.dtype for one in known.call.tensors() if one.numel == elements)
            if made and any(read[kind] > made[kind] for kind in own):
                return True
            kind = "" if known.result is None else known.result.dtype
            if known.made == elements and not known.passes:
                made[kind] += 1
            elif elements in known.sizes and known.passes and not made:
                own.add(kind)
        return False

    def _types(self, place: int) -> set[str]:
        """Return the type of what is made at a place: its inputs' if its own is not known."""
        known = self.at(place)
        made = None if known is None else known.result or known.call.optional(0)
        return set() if made is None else {made.dtype}

    def _is_whole(self, place: int, known: Known) -> bool:
        """Return whether a view or a conversion gives all of its input, to this device alone."""
        if known.is_view:
            x = known.call.optional(0)
            return known.word in _WHOLE_VIEWS or (
                known.result is not None and x is not None and known.result.numel >= x.numel
            )
        if known.word == "copy":
            return False
        row, ops = int(self.rows[place]), self._trace.ops
        copies = row + 1 < len(ops) and int(ops.parent[row + 1]) == row
        return known.word == "clone" or not copies or _changes_type(known)


def _changes_type(known: Known) -> bool:
    """Return whether a conversion gives another type; else it copies to another device."""
    x = known.call.optional(0)
    return known.result is None or x is None or known.result.dtype != x.dtype


def _hashes(rows: I64, *columns: I32) -> NDArray[np.uint64]:
    """Return a number for each row; rows with equal values in all columns have an equal one."""
    found = np.zeros(len(rows), np.uint64)
    for column in columns:
        found = (found + column[rows].astype(np.uint64)) * _ODD
        found ^= found >> np.uint64(29)
    return found


@memoize
def followed_calls(trace: Trace) -> FollowedCalls:
    """Return the calls of a trace, for all that follow tensors in it."""
    return FollowedCalls(trace)
