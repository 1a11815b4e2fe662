"""Cut a stream into batches of whole packets, also behind damaged places and in packed packets.

A trace is a list of packets, each with its size in front. Where that does not fit, reading goes on
at the next place where several packets follow each other.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.discovery import compressed_files
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.perfetto import schema
from tb_privateuse1.readers.perfetto.wire import (
    LENGTH,
    Buffer,
    Fields,
    Spans,
    field_at,
    scan,
    varint,
)
from tb_privateuse1.trace.groupby import maxima
from tb_privateuse1.trace.model import NONE

_MARK = schema.PACKET << 3 | LENGTH
_BATCH = 1 << 20
"""Bytes decoded at once."""
_SMALL = 1 << 12
"""The same behind a damage."""
_MOST_PACKET = 1 << 28
_REACH = 1 << 20
"""Bytes in which packets must follow each other behind a damaged place."""
_CHAIN = 3
_MOST_PLACES = 2_000
"""Damaged places after which the rest is skipped, so that a hostile file ends soon."""
_MOST_UNPACKED, _UNPACKED_LEAST = 400, 1 << 20
"""A packed packet unpacks to at most this multiple of its size, or this number of bytes."""


class Batch(Struct, frozen=True):
    """Packets in a buffer and their fields; ``offset`` is where they begin in the file."""

    buffer: Buffer
    spans: Spans
    fields: Fields
    offset: int

    def __len__(self) -> int:
        return len(self.spans)


class Stream:
    """The packets of a file, whose blocks begin at ``offset``."""

    def __init__(self, blocks: Iterator[bytes], tally: Tally, offset: int = 0) -> None:
        self._blocks = blocks
        self._tally = tally
        self._offset = offset
        self._data = b""
        self._ended = False
        self._size = _BATCH
        self._places = 0
        self._over = False

    def batches(self) -> Iterator[Batch]:
        """Yield packets in the order of the file; those in packed packets count as its own."""
        while not self._over and self._fill(self._size):
            spans, at = frame(self._data, self._size)
            if not len(spans):
                self._none_whole()
                continue
            buffer = Buffer(self._data[:at])
            fields = self._fields(buffer, spans)
            if fields.broken.any():
                whole = int(fields.broken.argmax())
                stop = int(spans.stop[whole])
                spans = spans.take(slice(0, whole))
                if whole:
                    yield from self._unpacked(
                        Batch(buffer, spans, self._fields(buffer, spans), self._offset)
                    )
                    self._drop(int(spans.stop[-1]))
                    stop -= int(spans.stop[-1])
                self._damage(stop)
                continue
            yield from self._unpacked(Batch(buffer, spans, fields, self._offset))
            self._drop(at)
            self._size = min(_BATCH, 2 * self._size)

    def _fields(self, buffer: Buffer, spans: Spans) -> Fields:
        """Return the fields of packets; of several contents of one packet only the last."""
        fields = scan(buffer, spans)
        is_content = (fields.kind == LENGTH) & np.isin(fields.number, list(schema.CONTENTS))
        rows = np.flatnonzero(is_content)
        last = maxima(fields.message[rows], rows, len(spans), NONE)
        others = rows[rows < last[fields.message[rows]]]
        if not len(others):
            return fields
        self._tally.add("damaged", len(np.unique(fields.message[others])))
        kept = np.ones(len(fields.message), np.bool_)
        kept[others] = False
        return fields.take(kept)

    def _fill(self, size: int) -> bool:
        """Read until there are ``size`` bytes or the file ends; return whether there are any."""
        if len(self._data) < size and not self._ended:
            parts, length = [self._data], len(self._data)
            while length < size:
                block = next(self._blocks, None)
                if block is None:
                    self._ended = True
                    break
                parts.append(block)
                length += len(block)
            self._data = b"".join(parts)
        return bool(self._data)

    def _drop(self, count: int) -> None:
        self._data = self._data[count:]
        self._offset += count

    def _none_whole(self) -> None:
        """Go on where the first packet is not whole: it is large, cut off or damaged."""
        if self._data[0] == _MARK:
            size, at = varint(self._data, 1, len(self._data))
            if size < 0 and self._ended and len(self._data) < 11:
                self._tally.add("truncated")
                self._over = True
                return
            if 0 <= size < _MOST_PACKET and self._fill(at + size) and len(self._data) >= at + size:
                self._size = max(self._size, at + size)
                return
            if 0 <= size < _MOST_PACKET and self._resume(1) is None:
                self._tally.add("truncated")
                self._over = True
                return
        self._damage(0)

    def _damage(self, stop: int) -> None:
        """Skip to where packets follow each other; at ``stop`` the next one should begin."""
        self._places += 1
        self._tally.add("damaged", 1, self._data[:16].hex(" "))
        self._size = _SMALL
        if self._places > _MOST_PLACES:
            self._tally.add("too_damaged")
            self._over = True
            return
        self._fill(stop + _REACH)
        if stop and self._follows(stop):
            self._drop(stop)
            return
        while (found := self._resume(1)) is None:
            if self._ended:
                self._over = True
                return
            self._drop(max(1, len(self._data) - _REACH))
            self._fill(2 * _REACH)
        self._drop(found)

    def _resume(self, at: int) -> int | None:
        """Return the first place from which packets follow each other; None without one."""
        data, last = self._data, len(self._data) if self._ended else len(self._data) - _REACH
        while True:
            at = data.find(_MARK, at, max(last, 0))
            if at < 0:
                return None
            if self._follows(at):
                return at
            at += 1

    def _follows(self, at: int) -> bool:
        """Return whether packets follow each other from here, or up to the end of the file."""
        data = self._data
        for _ in range(_CHAIN):
            if at == len(data):
                return self._ended
            stop = packet_end(data, at)
            if stop is None or stop > len(data):
                return False
            at = stop
        return True

    def _unpacked(self, batch: Batch) -> Iterator[Batch]:
        """Yield a batch in which packed packets are replaced by their content."""
        fields = batch.fields
        rows = np.unique(
            np.concatenate([fields.spans(n)[0] for n in (schema.COMPRESSED, schema.ZSTD)])
        )
        if not len(rows):
            yield batch
            return
        first = 0
        for row in rows.tolist():
            if row > first:
                yield _part(batch, first, row)
            yield from self._content(_part(batch, row, row + 1))
            first = row + 1
        if first < len(batch):
            yield _part(batch, first, len(batch))

    def _content(self, batch: Batch) -> Iterator[Batch]:
        for number in (schema.COMPRESSED, schema.ZSTD):
            for text in batch.buffer.texts(batch.fields.spans(number)[1]):
                data, whole = _unpack(text, number)
                spans, at = frame(data, len(data))
                buffer = Buffer(data)
                fields = self._fields(buffer, spans)
                kept = spans.take(~fields.broken)
                if not whole or at < len(data) or len(kept) < len(spans):
                    self._tally.add("damaged", 1, text[:16].hex(" "))
                    fields = self._fields(buffer, kept)
                if len(kept):
                    yield Batch(buffer, kept, fields, batch.offset)


def _part(batch: Batch, first: int, end: int) -> Batch:
    spans = batch.spans.take(slice(first, end))
    return Batch(batch.buffer, spans, batch.fields.part(first, end), batch.offset)


def _unpack(text: bytes, number: int) -> tuple[bytes, bool]:
    """Return the content of a packed packet, and whether it is all of it."""
    limit = max(_MOST_UNPACKED * len(text), _UNPACKED_LEAST)
    if number == schema.ZSTD:
        found = b""
        try:
            for block in compressed_files.unpack(io.BytesIO(text), "zstd"):
                found += block
                if len(found) > limit:
                    return found[:limit], False
        except compressed_files.BrokenStream:
            return found, False
        return found, True
    unpack = zlib.decompressobj()
    try:
        return unpack.decompress(text, limit), unpack.eof
    except zlib.error:
        return b"", False


def frame(data: bytes, size: int) -> tuple[Spans, int]:
    """Return the whole packets that begin in the first ``size`` bytes, and where they end."""
    starts: list[int] = []
    stops: list[int] = []
    at, last, limit = 0, len(data), min(size, len(data) - 1)
    while at < limit and data[at] == _MARK:
        start, length = at + 2, data[at + 1]
        if length > 127:
            length, start = varint(data, at + 1, last)
            if length < 0:
                break
        stop = start + length
        if stop > last:
            break
        starts.append(start)
        stops.append(stop)
        at = stop
    return Spans(np.array(starts, np.int64), np.array(stops, np.int64)), at


def packet_end(data: bytes, at: int) -> int | None:
    """Return where the packet at a place ends; None if there is none.

    Its fields must be those that a packet has, as far as the data go.
    """
    if data[at] != _MARK:
        return None
    length, at = varint(data, at + 1, len(data))
    if not 0 <= length < _MOST_PACKET:
        return None
    stop = at + length
    while at < min(stop, len(data)):
        field = field_at(data, at, stop)
        if field is None:
            return None if stop <= len(data) or at + 20 < len(data) else stop
        if not schema.fits(field[0], field[1]):
            return None
        at = field[3]
    return stop
