"""Read some windows of a file in a worker process of ``parallel_reading``."""

from __future__ import annotations

import os

import msgspec

from tb_privateuse1.readers.chrome.column_builder import Builder
from tb_privateuse1.readers.chrome.decoder import decode_sound
from tb_privateuse1.readers.chrome.event_kinds import Spelling
from tb_privateuse1.readers.chrome.part_columns import PartColumns, pack
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.chrome.timestamps import Inexact


class Request(msgspec.Struct, array_like=True):
    """Windows to read, each as start and size in the file, or else in the slot's memory."""

    windows: list[tuple[int, int]]
    exact: bool
    """Decode times as decimals, see ``Decoder.exact``."""
    kinds: list[Spelling]
    """The kinds of events so far."""


_REQUEST = msgspec.msgpack.Decoder(Request)


def read_part(request: bytes, memory: memoryview, file: int | None) -> bytes:
    """Return the header of the windows' ``PartColumns``, with its arrays in memory.

    Nothing, if the windows have to be read in the order of the file.
    """
    try:
        part = _read(_REQUEST.decode(request), memory, file)
        return pack(part, memory) if part and part.events else b""
    except Exception:  # NoRoom, or one that is raised again where the text is read in order
        return b""


def _read(request: Request, memory: memoryview, file: int | None) -> PartColumns | None:
    builder = Builder(Tally(), request.kinds)
    events = []
    for start, size in request.windows:
        content = memory[start : start + size] if file is None else os.pread(file, size, start)
        text = b"".join((b"[", content, b"]"))
        decoded = decode_sound(text, exact=request.exact)
        if not decoded:
            break
        try:
            builder.add(decoded, text)
        except Inexact:
            break
        events.append(len(decoded))
    return builder.part(events)
