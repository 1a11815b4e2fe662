"""Keep what packets of a sequence leave out: interned names and defaults, until they are cleared.

Each clearing begins a *generation* of a sequence. Names and defaults hold in one generation.
Source: docs/reference/synthetic-track-event.md of Perfetto ("Interning").
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.readers.chrome.interning import Strings
from tb_privateuse1.readers.perfetto import schema
from tb_privateuse1.readers.perfetto.stream import Batch
from tb_privateuse1.readers.perfetto.wire import Buffer, Fields, Spans, scan
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.perfetto_words import CATEGORIES, CLEARED, NEEDS, OTHER
from tb_privateuse1.trace.table import I32, I64, Bools

_DENSE = 1 << 20
"""Ids below this number are indices of an array."""


class Codes:
    """Numbers of distinct 64-bit values, in order of first occurrence."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self._sorted: I64 = np.empty(0, np.int64)
        self._code: I32 = np.empty(0, np.int32)

    def of(self, column: I64) -> I32:
        """Return the number of each value; new ones get the next numbers."""
        if len(self._sorted):
            at = np.minimum(np.searchsorted(self._sorted, column), len(self._sorted) - 1)
            if (self._sorted[at] == column).all():
                return self._code[at]
        new = np.setdiff1d(column, self._sorted)
        self.values += new.tolist()
        whole = np.array(self.values, np.int64)
        order = np.argsort(whole)
        self._sorted, self._code = whole[order], order.astype(np.int32)
        return self._code[np.searchsorted(self._sorted, column)] if len(column) else self._code[:0]


class Interned:
    """Values by generation and id."""

    def __init__(self) -> None:
        self._dense: dict[int, I32] = {}
        self._sparse: dict[tuple[int, int], int] = {}

    def add(self, generation: I64, iid: I64, values: Sequence[int]) -> None:
        """Add entries; a later one of the same id replaces the first."""
        for own, id, value in zip(generation.tolist(), iid.tolist(), values, strict=True):
            if not 0 <= id < _DENSE:
                self._sparse[own, id] = value
                continue
            table = self._dense.get(own)
            if table is None or id >= len(table):
                larger = np.full(max(64, 2 * id + 2), NONE, np.int32)
                if table is not None:
                    larger[: len(table)] = table
                table = self._dense[own] = larger
            table[id] = value

    def find(self, generation: I64, iid: I64) -> I32:
        """Return the value of each id, ``NONE`` without one."""
        found = np.full(len(iid), NONE, np.int32)
        for own in np.unique(generation).tolist():
            rows = generation == own
            table = self._dense.get(own)
            if table is not None:
                ids = iid[rows]
                known = (ids >= 0) & (ids < len(table))
                found[rows] = np.where(known, table[np.where(known, ids, 0)], NONE)
        if self._sparse:
            for row in np.flatnonzero((iid < 0) | (iid >= _DENSE)).tolist():
                found[row] = self._sparse.get((int(generation[row]), int(iid[row])), NONE)
        return found

    def forget(self, generation: int) -> None:
        """Drop the entries of a generation that has ended."""
        self._dense.pop(generation, None)


class _Sequence(Struct):
    generation: int
    valid: bool = False
    clock: int = NONE
    track: int = 0


class Packets(Struct, frozen=True):
    """State of its sequence at each packet of a batch."""

    sequence: I64
    generation: I64
    usable: Bools
    """Names that it needs are not lost."""
    clock: I64
    """``NONE``: the trace's own."""
    track: I64
    """The default track; 0 without one."""


class State:
    """The sequences of a file while it is read."""

    def __init__(self, strings: Strings) -> None:
        self.strings = strings
        self._all: list[str] = []
        self.names, self.categories, self.arguments, self.values = (Interned() for _ in range(4))
        self.stages = Interned()
        self.of_export = False
        """It is one of our exports."""
        self.stage_category: list[int] = []
        """By the number of a stage: its category; its name is in ``stage_name``."""
        self.stage_name: list[int] = []
        self._sequences: dict[int, _Sequence] = {}
        self._generations = 0
        self._ended: list[int] = []

    def add(self, batch: Batch) -> Packets:
        """Add the names and defaults of a batch and return what holds for its packets."""
        for generation in self._ended:
            for table in (self.names, self.categories, self.arguments, self.values, self.stages):
                table.forget(generation)
        self._ended.clear()
        packets = self._packets(batch)
        self._add_names(batch, packets.generation)
        return packets

    def _packets(self, batch: Batch) -> Packets:
        fields, rows = batch.fields, len(batch)
        sequence, flags = fields.numbers(schema.SEQUENCE, 0), fields.numbers(schema.FLAGS, 0)
        cleared = (fields.numbers(schema.CLEARED_OLD, 0) != 0) | ((flags & CLEARED) != 0)
        dropped = fields.numbers(schema.DROPPED, 0) != 0
        has, clock, track = self._defaults(batch)
        result = Packets(
            sequence,
            np.empty(rows, np.int64),
            np.empty(rows, np.bool_),
            np.empty(rows, np.int64),
            np.empty(rows, np.int64),
        )
        order = np.argsort(sequence, kind="stable")
        edges = np.flatnonzero(np.diff(sequence[order])) + 1
        for own in np.split(order, edges):
            if not len(own):
                continue
            number = int(sequence[own[0]])
            state = self._sequences.setdefault(number, _Sequence(self._new_generation()))
            count = np.cumsum(cleared[own])
            total = int(count[-1])
            ids = np.array([state.generation, *(self._new_generation() for _ in range(total))])
            self._ended += ids[:-1].tolist()
            result.generation[own] = ids[count]
            change = _latest(cleared[own] | dropped[own])
            valid = np.where(change >= 0, cleared[own][change], state.valid)
            result.usable[own] = valid | ((flags[own] & NEEDS) == 0)
            change = _latest(cleared[own] | has[own])
            result.clock[own] = np.where(change >= 0, clock[own][change], state.clock)
            result.track[own] = np.where(change >= 0, track[own][change], state.track)
            last = own[-1]
            self._sequences[number] = _Sequence(
                int(ids[-1]), bool(valid[-1]), int(result.clock[last]), int(result.track[last])
            )
        explicit = fields.numbers(schema.CLOCK, NONE)
        np.copyto(result.clock, explicit, where=explicit >= 0)
        return result

    def _new_generation(self) -> int:
        self._generations += 1
        return self._generations

    def _defaults(self, batch: Batch) -> tuple[Bools, I64, I64]:
        """Return which packets have defaults, and those of their clock and track."""
        has = batch.fields.has(schema.DEFAULTS, 2)
        clock, track = np.full(len(batch), NONE, np.int64), np.zeros(len(batch), np.int64)
        if has.any():
            owner, spans = batch.fields.spans(schema.DEFAULTS)
            fields = scan(batch.buffer, spans)
            clock[owner] = fields.numbers(58, NONE)
            inner, spans = fields.spans(11)
            track[owner[inner]] = scan(batch.buffer, spans).numbers(11, 0)
        return has, clock, track

    def _add_names(self, batch: Batch, generation: I64) -> None:
        owner, spans = batch.fields.spans(schema.INTERNED)
        if not len(owner):
            return
        fields, own = scan(batch.buffer, spans), generation[owner]
        kinds = {
            schema.NAMES: self.names,
            schema.CATEGORIES: self.categories,
            schema.ARGUMENTS: self.arguments,
            schema.TEXT_VALUES: self.values,
        }
        for number, table in kinds.items():
            row, entries = fields.spans(number)
            if len(row):
                entry = scan(batch.buffer, entries)
                found = texts(batch.buffer, entry, 2, self.index)
                table.add(own[row], entry.numbers(1, 0), found)
                if number == schema.CATEGORIES:
                    self.of_export |= {self.strings[name] for name in CATEGORIES} <= set(found)
        row, entries = fields.spans(schema.STAGES)
        if len(row):
            entry = scan(batch.buffer, entries)
            self.stages.add(own[row], entry.numbers(1, 0), self.add_stages(batch.buffer, entry))

    def add_stages(self, buffer: Buffer, entry: Fields) -> list[int]:
        """Add kinds of work of a device, and return their numbers.

        In our export the description is the whole name, and the name a short form of it.
        """
        names = texts(buffer, entry, 2, self.index)
        if self.of_export:
            whole = texts(buffer, entry, 3, self.index)
            nothing = self.index(b"")
            names = [a if b == nothing else b for a, b in zip(names, whole, strict=True)]
        first = len(self.stage_name)
        self.stage_name += names
        self.stage_category += entry.numbers(4, 0).tolist()
        return list(range(first, first + len(names)))

    def add_described(self, buffer: Buffer, entry: Fields) -> list[int]:
        """Add kinds of work, or queues, of older traces: they have a name without an id."""
        names = texts(buffer, entry, 1, self.index)
        first = len(self.stage_name)
        self.stage_name += names
        self.stage_category += [OTHER] * len(names)
        return list(range(first, first + len(names)))

    def text(self, number: int) -> str:
        """Return a string by its number."""
        if number >= len(self._all):
            self._all += itertools.islice(self.strings, len(self._all), None)
        return self._all[number]

    def index(self, text: bytes) -> int:
        """Return the number of a string."""
        return self.strings[text.decode("utf-8", "replace")]


def texts(buffer: Buffer, fields: Fields, number: int, index: Callable[[bytes], int]) -> list[int]:
    """Return the number of each message's text, of the empty one without a text."""
    found = np.full(fields.messages, NONE, np.int64)
    row, spans = fields.spans(number)
    found[row] = [index(text) for text in buffer.texts(spans)]
    if (found < 0).any():
        found[found < 0] = index(b"")
    return found.tolist()


def text_column(buffer: Buffer, spans: Spans, index: Callable[[bytes], int]) -> I32:
    """Return the number of each text."""
    known: dict[bytes, int] = {}
    found: list[int] = []
    for text in buffer.texts(spans):
        number = known.get(text)
        if number is None:
            number = known[text] = index(text)
        found.append(number)
    return np.array(found, np.int32)


def _latest(change: Bools) -> NDArray[Any]:
    """Return for each row the last one up to it with a change, ``NONE`` before the first."""
    return np.maximum.accumulate(np.where(change, np.arange(len(change)), NONE))
