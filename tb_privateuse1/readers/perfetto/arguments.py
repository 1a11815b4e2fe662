"""Read the arguments of slices (``DebugAnnotation``) that have a column."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.readers.chrome import numbers
from tb_privateuse1.readers.chrome.event_schema import JSON, TEXTS
from tb_privateuse1.readers.chrome.interning import JsonTexts
from tb_privateuse1.readers.perfetto import schema
from tb_privateuse1.readers.perfetto.state import State, text_column
from tb_privateuse1.readers.perfetto.wire import FIXED64, LENGTH, Buffer, Fields, Spans, scan
from tb_privateuse1.readers.raw import MISSING_OF
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64

_BOOL, _UINT, _INT, _DOUBLE, _POINTER = 2, 3, 4, 5, 7
_TEXT, _TEXT_ID, _LEGACY_JSON = 6, 17, 9
_DICT, _ARRAY = 11, 12
_OTHER_SPELLING = {"external_id_2021": "external_id", "shapes_2021": "shapes"}
_INSIDE = frozenset({"args", "debug"})
"""Dictionaries of this name have the arguments in them."""
_DEEPEST = 20


class Arguments:
    """Values of arguments, as rows of slices and values by column."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._json = JsonTexts(state.strings)
        self._columns: dict[int, str | None] = {}
        self._values: dict[str, list[tuple[I64, NDArray[Any]]]] = defaultdict(list)

    def add(self, buffer: Buffer, row: I64, generation: I64, spans: Spans) -> None:
        """Add annotations: the slice of each, the generation of its names, and its place."""
        fields = scan(buffer, spans)
        name = self._state.arguments.find(generation, fields.numbers(1, 0))
        at, texts = fields.spans(10)
        name[at] = text_column(buffer, texts, self._state.index)
        for string in np.unique(name).tolist():
            mine = name == string
            column = self._column(string)
            if column is not None:
                self._add_column(column, buffer, fields, row, generation, mine)
            elif string >= 0 and self._text(string) in _INSIDE:
                inner, places = fields.spans(_DICT)
                own = mine[inner]
                if own.any():
                    inner = inner[own]
                    self.add(buffer, row[inner], generation[inner], places.take(own))

    def column(self, key: str, rows: int) -> NDArray[Any] | None:
        """Return a column as long as the slices; None if no slice has a value."""
        parts = self._values.get(key)
        if not parts:
            return None
        is_number = key in MISSING_OF
        found = np.full(rows, MISSING_OF.get(key, NONE), np.int64 if is_number else np.int32)
        for row, values in parts:
            found[row] = values
        return found

    def filled(self) -> list[str]:
        """Return the columns with values."""
        return list(self._values)

    def _text(self, string: int) -> str:
        return self._state.text(string)

    def _column(self, string: int) -> str | None:
        if string not in self._columns:
            column = schema.COLUMN_OF.get(self._text(string)) if string >= 0 else None
            self._columns[string] = _OTHER_SPELLING.get(column or "", column)
        return self._columns[string]

    def _add_column(
        self,
        column: str,
        buffer: Buffer,
        fields: Fields,
        row: I64,
        generation: I64,
        mine: NDArray[np.bool_],
    ) -> None:
        parts: Sequence[tuple[I64, NDArray[Any]]] = ()
        if column in MISSING_OF:
            parts = self._numbers(column, buffer, fields, mine)
        elif column in JSON or column in TEXTS:
            parts = self._texts(column, buffer, fields, generation, mine)
        for at, values in parts:
            self._values[column].append((row[at], values))

    def _numbers(
        self, column: str, buffer: Buffer, fields: Fields, mine: NDArray[np.bool_]
    ) -> list[tuple[I64, I64]]:
        found: list[tuple[I64, I64]] = []
        for number in (_UINT, _INT, _POINTER):
            rows = fields.rows(number)
            rows = rows[mine[fields.message[rows]]]
            if len(rows):
                found.append((fields.message[rows], fields.value[rows].view(np.int64)))
        rows = fields.rows(_DOUBLE, FIXED64)
        rows = rows[mine[fields.message[rows]]]
        if len(rows):
            values = fields.value[rows].view(np.float64)
            whole = (np.abs(values) < 2.0**62) & (values == np.floor(values))
            as_int = np.where(whole, values, 0).astype(np.int64)
            found.append((fields.message[rows], np.where(whole, as_int, MISSING_OF[column])))
        at, spans = fields.spans(_TEXT)
        own = mine[at]
        if own.any():
            texts = [t.decode("utf-8", "replace") for t in buffer.texts(spans.take(own))]
            found.append((at[own], numbers.parse_ids(texts, MISSING_OF[column])))
        return found

    def _texts(
        self,
        column: str,
        buffer: Buffer,
        fields: Fields,
        generation: I64,
        mine: NDArray[np.bool_],
    ) -> list[tuple[I64, I32]]:
        found: list[tuple[I64, I32]] = []
        rows = fields.rows(_TEXT_ID)
        rows = rows[mine[fields.message[rows]]]
        if len(rows):
            at = fields.message[rows]
            ids = self._state.values.find(generation[at], fields.value[rows].view(np.int64))
            found.append((at, self._as_json(ids) if column in JSON else ids))
        for number in (_TEXT, _LEGACY_JSON):
            at, spans = fields.spans(number)
            own = mine[at]
            if own.any():
                if column in JSON:
                    codes = [self._json[text] for text in buffer.texts(spans.take(own))]
                    found.append((at[own], np.array(codes, np.int32)))
                else:
                    texts = text_column(buffer, spans.take(own), self._state.index)
                    found.append((at[own], texts))
        if column in JSON:
            found += self._arrays(buffer, fields, mine)
        else:
            found += self._digits(fields, mine)
        return found

    def _as_json(self, strings: I32) -> I32:
        used, code = np.unique(strings, return_inverse=True)
        codes = [self._json[self._text(i).encode()] if i >= 0 else NONE for i in used.tolist()]
        return np.array(codes, np.int32)[code]

    def _arrays(
        self, buffer: Buffer, fields: Fields, mine: NDArray[np.bool_]
    ) -> list[tuple[I64, I32]]:
        """Return lists, which are several fields of a message, as JSON."""
        at, spans = fields.spans(_ARRAY)
        own = mine[at]
        if not own.any():
            return []
        items: dict[int, list[bytes]] = defaultdict(list)
        for row, text in zip(at[own].tolist(), buffer.texts(spans.take(own)), strict=True):
            items[row].append(text)
        known: dict[tuple[bytes, ...], int] = {}
        codes = []
        for texts in map(tuple, items.values()):
            if texts not in known:
                values = [plain_value(text) for text in texts]
                known[texts] = self._json[msgspec.json.encode(values)]
            codes.append(known[texts])
        return [(np.array(list(items), np.int64), np.array(codes, np.int32))]

    def _digits(self, fields: Fields, mine: NDArray[np.bool_]) -> list[tuple[I64, I32]]:
        """Return numbers as texts."""
        found: list[tuple[I64, I32]] = []
        for number in (_UINT, _INT):
            rows = fields.rows(number)
            rows = rows[mine[fields.message[rows]]]
            if len(rows):
                values = fields.value[rows].view(np.int64).tolist()
                codes = [self._state.strings[str(value)] for value in values]
                found.append((fields.message[rows], np.array(codes, np.int32)))
        return found


def plain_value(message: bytes, names: dict[int, str] | None = None, depth: int = 0) -> Any:
    """Return the value of an annotation as Python has it; ``names`` are interned texts."""
    buffer = Buffer(message)
    whole = Spans(np.array([0]), np.array([len(message)]))
    fields = scan(buffer, whole)
    items: list[Any] = []
    entries: dict[str, Any] = {}
    value: Any = None
    rows = zip(
        fields.number.tolist(), fields.kind.tolist(), fields.value.tolist(), fields.stop.tolist(),
        strict=True,
    )  # fmt: skip
    for number, kind, raw, stop in rows:
        text = message[stop - raw : stop] if kind == LENGTH else b""
        if number == _BOOL:
            value = bool(raw)
        elif number in (_UINT, _POINTER):
            value = raw
        elif number == _INT:
            value = raw - (1 << 64) if raw >> 63 else raw
        elif number == _DOUBLE:
            value = _finite(raw)
        elif number in (_TEXT, _LEGACY_JSON):
            value = text.decode("utf-8", "replace")
        elif number == _TEXT_ID:
            value = (names or {}).get(raw, raw)
        elif number == _ARRAY and depth < _DEEPEST:
            items.append(plain_value(text, names, depth + 1))
        elif number == _DICT and depth < _DEEPEST:
            entries[str(len(entries))] = plain_value(text, names, depth + 1)
    return items or entries or value


def _finite(word: int) -> float | None:
    value = struct.unpack("<d", word.to_bytes(8, "little"))[0]
    return float(value) if np.isfinite(value) else None
