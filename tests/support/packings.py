"""Pack bytes as files may be: ``PACK["zstd"](data)``."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable

import pyarrow


def zstd(data: bytes) -> bytes:
    """One stream of zstd, with a checksum of its own or none, as pyarrow writes it."""
    out = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return bytes(out.getvalue().to_pybytes())


PACK: dict[str, Callable[[bytes], bytes]] = {
    "zstd": zstd,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "gzip": gzip.compress,
}
