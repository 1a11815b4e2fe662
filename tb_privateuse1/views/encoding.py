"""Encode a result as JSON, or as JSON with packed columns of numbers and of tables' rows."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import numpy as np

from tb_privateuse1 import i18n
from tb_privateuse1.i18n import LANGUAGES
from tb_privateuse1.views.packing import pack

PAGE_BYTES = 300_000
"""Most that an answer to a page is to have, before compression."""


def encode(result: Any, language: str = LANGUAGES[0]) -> bytes:
    """Return the JSON of any result: the same bytes over HTTP and on the command line."""

    def plain(value: Any) -> Any:
        return i18n.render(value, language) if isinstance(value, str) else value.tolist()

    return msgspec.json.encode(result, enc_hook=plain)


def encode_columns(result: Any, language: str = LANGUAGES[0]) -> bytes | None:
    """Return a result with its columns as they are in memory; None without columns of numbers.

    The layout is ``uint32`` length of the JSON, JSON, padding to 8 bytes, columns. In the JSON a
    column is ``{"$column": [dtype, offset behind the padding, length]}``; all is little-endian.
    Tables are packed as ``packing.pack`` says.
    """
    columns: list[bytes] = []
    size = 0

    def column(values: Any) -> dict[str, Any] | str:
        nonlocal size
        if isinstance(values, str):
            return i18n.render(values, language)
        little = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
        place = [values.dtype.name, size, len(values)]
        columns.append(little + bytes(-len(little) % 8))
        size += len(columns[-1])
        return {"$column": place}

    head = msgspec.json.encode(pack(result), enc_hook=column)
    if not columns:
        return None
    padding = bytes(-(4 + len(head)) % 8)
    return b"".join((struct.pack("<I", len(head)), head, padding, *columns))
