"""Facts about a trace that its first bytes do not show: asked only of the files that need them.

A merged file has the processes of several ranks, one rank after the other. SGLang writes
``"pid": "[TP01] 1000"``, and so do scripts that were made after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

from tb_privateuse1.discovery import packed
from tb_privateuse1.discovery.file import File, open_file

LABEL = re.compile(rb'"pid"\s*:\s*"(\[[^\]"\\]{1,64}\]) ')
"""Matches a process of a merged file; group 1 is the label of its rank."""
_DEVICE = re.compile(rb'"cat"\s*:\s*"[^"]*(?:kernel|gpu|memcpy|memset|_ccp_)[^"]*"', re.IGNORECASE)
_BLOCK = 1 << 20
_OVERLAP = 256
"""Bytes of a block that are searched again, with the next one: no match is longer."""


def labels_in(file: File) -> tuple[str, ...]:
    """Return the labels of the ranks of a merged file, in its order. Raises OSError."""
    found: dict[bytes, None] = {}
    for block in _blocks(file):
        found.update(dict.fromkeys(LABEL.findall(block)))
    return tuple(label.decode("utf-8", "replace") for label in found)


def has_device_work(file: File) -> bool:
    """Return whether any event of a file ran on a device. Raises OSError."""
    return any(_DEVICE.search(block) for block in _blocks(file))


def _blocks(file: File) -> Iterator[bytes]:
    with open_file(file.path, file.size) as opened:
        stream: IO[bytes] = opened
        for _ in range(packed.MOST_LAYERS):
            packing = packed.packing_of(stream.read(packed.HEAD_BYTES))
            stream.seek(0)
            if packing is None:
                break
            stream = packed.open_unpacked(stream, packing)
        left, rest = packed.most_bytes(file.size), b""
        try:
            while left > 0 and (block := stream.read(_BLOCK)):
                yield rest + block
                rest, left = block[-_OVERLAP:], left - len(block)
        except packed.BROKEN:
            pass  # the bytes before the damage still count
