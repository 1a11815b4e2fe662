"""Encoder of Protocol Buffers by columns: n messages of one shape at a time.

A part of a message is a list of byte columns, each with the rows that have this byte. A message is
the concatenation of its parts. In the end all columns form one matrix with a row per message, and
its present bytes are read row by row. So there is no Python object per message.
Format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.trace.table import Bools

_ROWS = 1 << 13
"""Messages per matrix: with some 80 bytes each, it fits in a core's cache."""
_VARINT, _FIXED64, _LENGTH = 0, 1, 2

Bytes = NDArray[np.uint8]
_Column = tuple[Bytes | int, Bools | None]
"""A byte of each message, and the messages with this byte; None: all."""


class EncodedPart(Struct, frozen=True):
    """Byte columns; ``size`` is the number of bytes per message, or one number for all."""

    columns: tuple[_Column, ...]
    size: NDArray[np.int64] | int


def constant(data: bytes) -> EncodedPart:
    """Build a part with the same bytes in every message."""
    return EncodedPart(tuple((byte, None) for byte in data), len(data))


def varint(number: int, values: NDArray[Any]) -> EncodedPart:
    """Build a field of integers >= 0."""
    return _after(_tag(number, _VARINT), _varint(values))


def fixed64(number: int, values: NDArray[Any]) -> EncodedPart:
    """Build a field of eight bytes, such as identifiers of flows."""
    octets = values.astype("<u8").view(np.uint8).reshape(-1, 8)
    columns = tuple((octets[:, i], None) for i in range(8))
    return _after(_tag(number, _FIXED64), EncodedPart(columns, 8))


def decimal(values: NDArray[Any]) -> EncodedPart:
    """Build the digits of integers >= 0, for fields of text."""
    values = values.astype(np.uint64)
    digits = len(str(int(values.max(initial=0))))
    columns: list[_Column] = []
    size = np.ones(len(values), np.int64)
    for power in range(digits - 1, -1, -1):
        unit = np.uint64(10**power)
        present = values >= unit if power else None
        columns.append(((values // unit % np.uint64(10) + np.uint64(48)).astype(np.uint8), present))
        if present is not None:
            size += present
    return EncodedPart(tuple(columns), size)


def text(chosen: NDArray[Any], texts: Sequence[bytes]) -> EncodedPart:
    """Build a part with one of several texts per message."""
    length = np.array([len(t) for t in texts], np.int64)
    table = np.zeros((len(texts), int(length.max(initial=0))), np.uint8)
    for row, data in zip(table, texts, strict=True):
        row[: len(data)] = np.frombuffer(data, np.uint8)
    size = length[chosen]
    columns = tuple((table[chosen, i], size > i) for i in range(table.shape[1]))
    return EncodedPart(columns, size)


def only(part: EncodedPart, rows: Bools) -> EncodedPart:
    """Limit a part to these messages; the others have nothing."""
    columns = tuple((b, rows if present is None else rows & present) for b, present in part.columns)
    return EncodedPart(columns, np.where(rows, part.size, 0))


def message(number: int, *parts: EncodedPart) -> EncodedPart:
    """Build a field whose value is a message or text of these parts."""
    size = sum((part.size for part in parts), start=0)
    if isinstance(size, int):
        head = constant(_tag(number, _LENGTH) + _one(size))
    else:
        head = _after(_tag(number, _LENGTH), _varint(size))
    return _joined(head, *parts)


def field(number: int, value: int | bytes | str) -> bytes:
    """Encode one field of one message, for messages that are few."""
    if isinstance(value, int):
        return _tag(number, _VARINT) + _one(value)
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return _tag(number, _LENGTH) + _one(len(data)) + data


def encode(part: EncodedPart, rows: int) -> bytes:
    """Return all messages, concatenated."""
    if any(isinstance(b, np.ndarray) and len(b) != rows for b, _ in part.columns):
        raise ValueError("columns of different lengths")
    return b"".join(
        _block(part, first, min(first + _ROWS, rows)) for first in range(0, rows, _ROWS)
    )


def _block(part: EncodedPart, first: int, last: int) -> bytes:
    shape = (last - first, len(part.columns))
    data, present = np.empty(shape, np.uint8), np.ones(shape, np.bool_)
    for i, (column, has_byte) in enumerate(part.columns):
        data[:, i] = column if isinstance(column, int) else column[first:last]
        if has_byte is not None:
            present[:, i] = has_byte[first:last]
    return data[present].tobytes()


def _varint(values: NDArray[Any]) -> EncodedPart:
    values = values.astype(np.uint64)
    longest = max(-(-int(values.max(initial=0)).bit_length() // 7), 1)
    columns: list[_Column] = []
    size = np.ones(len(values), np.int64)
    present: Bools | None = None
    for i in range(longest):
        byte = (values >> np.uint64(7 * i)).astype(np.uint8) & np.uint8(0x7F)
        further = values >= np.uint64(1 << 7 * (i + 1)) if i + 1 < longest else None
        if further is not None:
            byte |= further.view(np.uint8) << np.uint8(7)
            size += further
        columns.append((byte, present))
        present = further
    return EncodedPart(tuple(columns), size if longest > 1 else 1)


def _tag(number: int, kind: int) -> bytes:
    return _one(number << 3 | kind)


def _one(value: int) -> bytes:
    """Encode a varint; a negative number takes 64 bits."""
    value &= (1 << 64) - 1
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def _after(data: bytes, part: EncodedPart) -> EncodedPart:
    return _joined(constant(data), part)


def _joined(*parts: EncodedPart) -> EncodedPart:
    columns: Iterable[_Column] = (column for part in parts for column in part.columns)
    return EncodedPart(tuple(columns), sum((part.size for part in parts), start=0))
