"""Decode Protocol Buffers by columns: the first field of many messages, then the second, …

So there is no Python object per field. Eight bytes are loaded at each place: almost always a whole
varint. Format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_privateuse1.trace.table import I64, Bools

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Kinds of fields."""
PADDING = 24
"""Bytes behind the data, so that each load is within the buffer."""
_FEW = 24
"""Fewer messages than this are cheaper one by one: a message may have a million fields."""
_MOST_NUMBER = 1 << 29

U64 = NDArray[np.uint64]
_ENDS = np.uint64(0x8080808080808080)
_SEVEN = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONE, _BYTE = np.uint64(1), np.uint64(3)
_FOLDS = (
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
)


class Spans(Struct, frozen=True):
    """Places of messages or texts in a buffer."""

    start: I64
    stop: I64

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: NDArray[Any] | slice) -> Spans:
        """Return the spans of an index array, a mask or a slice."""
        return Spans(self.start[rows], self.stop[rows])


class Buffer:
    """Bytes from which messages are decoded."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        padded = data + bytes(PADDING)
        self.octets = np.frombuffer(padded, np.uint8)
        self._words: U64 = np.ndarray(len(data) + PADDING - 7, "<u8", padded, strides=(1,))

    def varints(self, at: I64) -> tuple[U64, I64]:
        """Return the varint at each place and its size; 11 if it does not end."""
        words = self._words[at]
        ends = ~words & _ENDS
        low = ends & (~ends + _ONE)
        mask = low ^ (low - _ONE)
        value = words & mask & _SEVEN
        for keep, move, by in _FOLDS:
            value = (value & keep) | ((value & move) >> by)
        size = (np.bitwise_count(mask) >> 3).astype(np.int64)
        long = np.flatnonzero(ends == 0)
        if len(long):
            ninth, tenth = (self.octets[at[long] + place].astype(np.uint64) for place in (8, 9))
            goes_on = ninth > 127
            value[long] |= (ninth & np.uint64(127)) << np.uint64(56)
            value[long] |= np.where(goes_on, tenth << np.uint64(63), np.uint64(0))
            size[long] = np.where(goes_on, np.where(tenth > 127, 11, 10), 9)
        return value, size

    def words(self, at: I64) -> U64:
        """Return the eight bytes at each place as a number."""
        return self._words[at]

    def texts(self, spans: Spans) -> list[bytes]:
        """Return the bytes of each span."""
        data = self.data
        pairs = zip(spans.start.tolist(), spans.stop.tolist(), strict=True)
        return [data[start:stop] for start, stop in pairs]


class Fields(Struct, frozen=True):
    """The fields of messages, a row per field; those of one message are in their order.

    ``message`` is the row of the message. ``value`` is the number, of a text or message its length,
    and ``stop`` is where the field ends. ``broken`` are the messages whose fields are no fields, or
    go beyond the message: they have those before.
    """

    messages: int
    message: I64
    number: NDArray[np.int32]
    kind: NDArray[np.uint8]
    value: U64
    stop: I64
    broken: Bools

    def rows(self, number: int, kind: int = VARINT) -> I64:
        """Return the rows of a field."""
        return np.flatnonzero((self.number == number) & (self.kind == kind))

    def numbers(self, number: int, missing: int, kind: int = VARINT) -> I64:
        """Return the last value of a field per message, as a number of 64 bits with a sign."""
        found = np.full(self.messages, missing, np.int64)
        rows = self.rows(number, kind)
        found[self.message[rows]] = self.value[rows].view(np.int64)
        return found

    def has(self, number: int, kind: int = VARINT) -> Bools:
        """Return which messages have a field."""
        found = np.zeros(self.messages, np.bool_)
        found[self.message[self.rows(number, kind)]] = True
        return found

    def spans(self, number: int) -> tuple[I64, Spans]:
        """Return the places of a field of texts or messages, and the messages they are in."""
        rows = self.rows(number, LENGTH)
        stop = self.stop[rows]
        return self.message[rows], Spans(stop - self.value[rows].view(np.int64), stop)

    def take(self, kept: Bools) -> Fields:
        """Return the fields of a mask; the messages stay."""
        return replace(
            self,
            message=self.message[kept],
            number=self.number[kept],
            kind=self.kind[kept],
            value=self.value[kept],
            stop=self.stop[kept],
        )

    def part(self, first: int, end: int) -> Fields:
        """Return the fields of the messages from ``first`` up to ``end``."""
        own = self.take((self.message >= first) & (self.message < end))
        broken = self.broken[first:end]
        return replace(own, messages=end - first, message=own.message - first, broken=broken)


def scan(buffer: Buffer, spans: Spans) -> Fields:
    """Return all fields of messages; what is inside of their texts and messages is not decoded."""
    message = np.arange(len(spans))
    at, end = spans.start, spans.stop
    parts: list[tuple[NDArray[Any], ...]] = []
    broken = np.zeros(len(spans), np.bool_)
    while True:
        more = at < end
        if not more.all():
            message, at, end = message[more], at[more], end[more]
        if len(at) < _FEW:
            break
        tag, size = buffer.varints(at)
        number, kind = tag >> _BYTE, (tag & np.uint64(7)).astype(np.uint8)
        at = at + size
        value, size = buffer.varints(np.minimum(at, end))
        size, value = _by_kind(buffer, kind, np.minimum(at, end), value, size)
        room = end - at - size
        fits = (room >= 0) & (number > 0) & (number < _MOST_NUMBER)
        is_long = kind == LENGTH
        fits &= ~is_long | (value <= np.maximum(room, 0).view(np.uint64))
        at = at + size
        at = np.where(is_long & fits, at + value.view(np.int64), at)
        if not fits.all():
            broken[message[~fits]] = True
            message, at, end = message[fits], at[fits], end[fits]
            number, kind, value = number[fits], kind[fits], value[fits]
        parts.append((message, number.astype(np.int32), kind, value, at))
    if len(at):
        parts.append(_one_by_one(buffer.data, message, at, end, broken))
    types: tuple[type[np.generic], ...] = (np.int64, np.int32, np.uint8, np.uint64, np.int64)
    columns = [
        np.concatenate([np.empty(0, dtype), *(part[i] for part in parts)])
        for i, dtype in enumerate(types)
    ]
    owner, numbers, kinds, values, stops = columns
    return Fields(len(spans), owner, numbers, kinds, values, stops, broken)


def _by_kind(
    buffer: Buffer, kind: NDArray[np.uint8], at: I64, value: U64, size: I64
) -> tuple[I64, U64]:
    """Return size and value of fields; kinds that do not exist have an impossible size."""
    others = np.flatnonzero((kind != VARINT) & (kind != LENGTH))
    if len(others):
        own, word = kind[others], buffer.words(at[others])
        impossible = np.int64(1 << 40)
        size[others] = np.select((own == FIXED64, own == FIXED32), (8, 4), impossible)
        value[others] = np.where(own == FIXED32, word & np.uint64(0xFFFFFFFF), word)
    size[size > 10] = 1 << 40
    return size, value


def _one_by_one(
    data: bytes, message: I64, starts: I64, ends: I64, broken: Bools
) -> tuple[NDArray[Any], ...]:
    """Return the remaining fields of few messages."""
    found: list[tuple[int, int, int, int, int]] = []
    for row, start, end in zip(message.tolist(), starts.tolist(), ends.tolist(), strict=True):
        at = start
        while at < end:
            field = field_at(data, at, end)
            if field is None:
                broken[row] = True
                break
            found.append((row, *field))
            at = field[3]
    columns = zip(*found, strict=True) if found else ((),) * 5
    types: tuple[type[np.generic], ...] = (np.int64, np.int32, np.uint8, np.uint64, np.int64)
    return tuple(np.array(column, dtype) for column, dtype in zip(columns, types, strict=True))


def field_at(data: bytes, at: int, end: int) -> tuple[int, int, int, int] | None:
    """Return number, kind, value and end of a field; None if there is none."""
    tag, at = varint(data, at, end)
    number, kind = tag >> 3, tag & 7
    if not 0 < number < _MOST_NUMBER:
        return None
    if kind in (VARINT, LENGTH):
        value, at = varint(data, at, end)
        if value < 0:
            return None
        stop = at + value if kind == LENGTH else at
    elif kind in (FIXED64, FIXED32):
        stop = at + (8 if kind == FIXED64 else 4)
        value = int.from_bytes(data[at:stop], "little")
    else:
        return None
    return (number, kind, value, stop) if stop <= end else None


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the varint at a place and where it ends; -1 if it does not end in time."""
    value = shift = 0
    for place in range(at, min(end, at + 10, len(data))):
        octet = data[place]
        value |= (octet & 127) << shift
        if octet < 128:
            return value & (1 << 64) - 1, place + 1
        shift += 7
    return -1, end
