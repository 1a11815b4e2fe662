"""Follow the rows that are read of a result backward, through the operators that made it.

A layer of all tokens is needless as a whole where only the first token's state is read. Tensors are
known by their elements alone. So whatever reads as many elements as a tensor has, from its maker
to the reader of the part and on to the next such tensor, must need the same rows of it.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.needed_inputs import Needs, needs_of, read_sizes
from tb_privateuse1.analysis.idioms.result_tensors import CUTS
from tb_privateuse1.analysis.idioms.taken_parts import rows_of_part, strided_calls, taken_part
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.calls import group_calls, read_calls
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import starts_run
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64, I64

LITTLE = 0.5
"""The greatest share of a result that is "a part" of it."""
_MOST = 50_000
"""Operators that are followed: as many as for other results that nobody reads."""
_NONE = 0
"""A row's length: all rows are needed."""


class NeededRows(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` by time, and the share of their work that nobody reads."""

    rows: I64
    shares: F64
    read_bytes: I64
    """What each one reads as a whole however few of its rows are needed: weights, keys, values."""


class _Cut(Struct, frozen=True):
    """A part of a tensor that a call reads: its share, and the length of the runs in it."""

    elements: int
    share: float
    row: int


class _Call(Struct, frozen=True):
    """A distinct call."""

    reads: frozenset[int]
    needs: Needs | None
    cut: _Cut | None
    is_known: bool


def needed_rows(trace: Trace) -> NeededRows:
    """Return the operators whose rows are needed in part, and the share that is not.

    One is followed within its thread and step, and no further than the first operator whose
    inputs are not recorded.
    """
    walk = _Walk(trace)
    shares: dict[int, float] = {}
    for maker, cut in walk.cuts().items():
        for place in walk.follow(maker, cut):
            # Two parts that are read may need one row each.
            shares[place] = shares.get(place, 1.0) - cut.share
    places = np.array(sorted(place for place, share in shares.items() if share > 0), np.int64)
    return NeededRows(
        walk.rows[places],
        np.array([shares[place] for place in places.tolist()], np.float64),
        np.array([walk.whole_bytes(place) for place in places.tolist()], np.int64),
    )


class _Walk:
    """The outermost operators by thread and start, and what each one needs."""

    def __init__(self, trace: Trace) -> None:
        ops = trace.ops
        self.rows: I64 = np.flatnonzero(groupby.outermost_operators(ops))
        rows = self.rows
        first, call = group_calls(trace, rows)
        strided = strided_calls(trace, rows[first])
        pairs = zip(read_calls(trace, rows[first]), strided, strict=True)
        self._calls = [_read(trace, call, view) for call, view in pairs]
        cuts = np.array([one.cut is not None for one in self._calls] or [False], np.bool_)
        self._cuts: list[int] = np.flatnonzero(cuts[call]).tolist()
        self._left = _MOST
        if not self._cuts:  # lists of a million operators take longer than all of the above
            return
        self._call: list[int] = call.tolist()
        borders = np.flatnonzero(starts_run(ops.thread[rows], ops.step[rows]))
        length = np.diff(borders, append=len(rows))
        self._begin: list[int] = np.repeat(borders, length).tolist()
        self._end: list[int] = np.repeat(borders + length, length).tolist()
        self._count: list[int] = np.bincount(call, minlength=1).tolist()

    def _at(self, place: int) -> _Call:
        return self._calls[self._call[place]]

    def whole_bytes(self, place: int) -> int:
        """Return the bytes of the inputs that an operator needs as a whole."""
        needs = self._at(place).needs
        return 0 if needs is None else needs.whole_bytes

    def cuts(self) -> dict[int, _Cut]:
        """Return by maker what is read of its result.

        There is none if anything else reads as much before another one makes as much.
        """
        found: dict[int, tuple[_Cut, int]] = {}
        for place in self._cuts:
            cut = self._at(place).cut
            maker = None if cut is None else self._maker(place, cut.elements)
            if cut is None or maker is None:
                continue
            if maker in found:
                before = found[maker][0]
                share = before.share + cut.share
                cut = _Cut(cut.elements, share, math.gcd(before.row, cut.row))
            found[maker] = cut, place
        return {
            maker: cut
            for maker, (cut, last) in found.items()
            if cut.share <= LITTLE
            and not self._is_read_behind(last, cut.elements, self._end_of_life(maker))
        }

    def _maker(self, place: int, elements: int) -> int | None:
        """Return who made the tensor that is cut; None if anything else reads it before."""
        for before in range(place - 1, self._begin[place] - 1, -1):
            self._left -= 1
            call = self._at(before)
            if self._left < 0 or not call.is_known:
                return None
            needs = call.needs
            if needs is not None and needs.result == elements and not needs.is_view:
                return before
            is_view = needs is not None and needs.is_view and elements not in needs.whole
            if elements in call.reads and not is_view and call.cut is None:
                return None
        return None

    def _end_of_life(self, maker: int) -> int:
        """Return the place up to which a tensor may be read: the end of its step.

        What is made from numbers lasts until it is made again; made once, it is for later steps.
        """
        needs = self._at(maker).needs
        if needs is None or not needs.may_last:
            return self._end[maker]
        return len(self._call) if self._count[self._call[maker]] > 1 else 0

    def _is_read_behind(self, place: int, elements: int, end: int) -> bool:
        """Return whether more than views read as many elements behind a place, and before an end.

        It ends where the next such tensor is made.
        """
        if end <= place:
            return True
        for behind in range(place + 1, end):
            self._left -= 1
            call = self._at(behind)
            needs = call.needs
            if self._left < 0 or (elements in call.reads and not (needs and needs.is_view)):
                return True
            if needs is not None and needs.result == elements and not needs.is_view:
                return False
        return False

    def follow(self, maker: int, cut: _Cut) -> list[int]:
        """Return the places that make what the reader of a part needs some rows of."""
        rows = {cut.elements: cut.row}
        checked = {cut.elements}
        found = []
        for place in range(maker, self._begin[maker] - 1, -1):
            self._left -= 1
            call = self._at(place)
            if self._left < 0 or not call.is_known or not any(rows.values()):
                break
            needs = call.needs
            row = _NONE if needs is None else rows.get(needs.result, _NONE)
            if needs is None or row % needs.row or row == _NONE:
                rows.update(dict.fromkeys(call.reads, _NONE))
                continue
            if needs.result not in checked:
                checked.add(needs.result)
                if self._is_read_behind(maker, needs.result, self._end_of_life(place)):
                    rows.update(dict.fromkeys((needs.result, *call.reads), _NONE))
                    continue
            if not needs.is_view:
                found.append(place)
            wanted = needs.row_in if needs.turns else row // needs.row * needs.row_in
            if rows.setdefault(needs.rows_of, wanted) != _NONE:
                rows[needs.rows_of] = math.gcd(rows[needs.rows_of], wanted)
            rows.update(dict.fromkeys(needs.whole, _NONE))
        return found


def _read(trace: Trace, call: Arguments | None, strided: Arguments | None) -> _Call:
    if call is None:
        return _Call(frozenset(), None, None, is_known=False)
    kind = kind_of(call.name, trace.vendor)
    return _Call(read_sizes(call), needs_of(call, kind), _cut(call, kind, strided), is_known=True)


def _cut(call: Arguments, kind: str, strided: Arguments | None) -> _Cut | None:
    """Return the rows that a call takes of its first tensor; None if it takes none or all."""
    if strided is None and reduced_name(call.name) not in CUTS:  # as ``rows_of_part`` says
        return None
    try:
        part = taken_part(call, reduced_name(call.name).strip("_"), kind, strided)
        row = rows_of_part(call, strided)
    except UnknownWork:
        return None
    of_rows = part is not None and (part.of_rows or len(call.tensor(0).shape) == 1)
    if part is None or not of_rows or part.share >= 1:
        return None
    return _Cut(call.tensor(0).numel, part.share, row)
