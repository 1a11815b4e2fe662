"""Atomic output files of exports, gzipped if the name ends in ``.gz``."""

from __future__ import annotations

import contextlib
import gzip
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from isal import isal_zlib

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError

_GZIP = 31
"""zlib's window bits for gzip's frame."""


def save(path: str, parts: Iterable[bytes]) -> None:
    """Write a file, gzipped if it ends in ``.gz``. Raises TraceError ``unwritable``."""
    with replacing(path) as file:
        if not path.endswith(".gz"):
            file.writelines(parts)
            return
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6) as packed:
            packed.writelines(parts)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Open a file that appears at its path when complete. Raises TraceError ``unwritable``."""
    out = Path(path)
    try:
        handle, partial = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            # mkstemp makes the file private: give it the permissions of any new file.
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(partial, 0o666 & ~umask)
            os.replace(partial, out)
        except BaseException:
            os.unlink(partial)
            raise
    except OSError as error:
        if isinstance(error, TimeoutError) and error.errno is None:
            raise  # the system's has a number: an alarm of the program raised this one
        raise TraceError(
            "unwritable", say("{path} cannot be written: {error}", path=path, error=error)
        ) from error


def gzipped(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts as a gzip stream, compressed one by one."""
    packer = isal_zlib.compressobj(2, isal_zlib.DEFLATED, _GZIP)
    for part in parts:
        if packed := packer.compress(part):
            yield packed
    yield packer.flush()
