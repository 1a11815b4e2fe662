"""Write a trace and its sidecar so that a reader sees both whole or neither.

Both are written into a hidden directory beside their destination (the same file system, so
that moving is atomic; no ``.json`` in the names, so that nothing takes them for traces), flushed
to the disk, because network file systems and quotas report a full disk only then, and moved.
The sidecar goes first: a reader looks for traces, and takes the sidecar it finds beside one.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

TRACE = ".pt.trace.json"
SIDECAR = ".kernel_event.json"
SNAPSHOT = ".memory_snapshot.pickle"

GZIP_LEVEL = 6
"""Level 9, Python's default, takes several times as long for a few per cent."""


def sidecar_path(trace: str | os.PathLike[str]) -> Path:
    """Return the path of a trace's sidecar: beside it, ``.pt.trace`` replaced."""
    path = Path(trace)
    zipped = ".gz" if path.name.endswith(".gz") else ""
    return path.with_name(_stem(path) + SIDECAR + zipped)


def snapshot_path(trace: Path) -> Path:
    """Return the path of the memory snapshot of a trace's window."""
    return trace.with_name(_stem(trace) + SNAPSHOT)


def _stem(trace: Path) -> str:
    return trace.name.removesuffix(".gz").removesuffix(".json").removesuffix(".pt.trace")


def write_pair(
    trace: Path, export: Callable[[Path], None], sidecar: Mapping[str, Any] | None
) -> None:
    """Write ``trace`` with ``export`` and, unless None, its sidecar; zipped if named ``.gz``.

    Raises what ``export`` raises, or OSError; nothing is left behind then.
    """
    trace.parent.mkdir(parents=True, exist_ok=True)
    with _Staging(trace) as staging:
        plain = staging / "trace.tmp"
        export(plain)
        zipped = gzip_file(plain) if trace.name.endswith(".gz") else plain
        _flush(zipped)
        target = sidecar_path(trace)
        if sidecar is not None:
            _write_json(staging / "sidecar.tmp", sidecar, target).replace(target)
        try:
            zipped.replace(trace)
        except OSError:
            if sidecar is not None:
                target.unlink(missing_ok=True)
            raise


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON atomically, zipped if named ``.gz``; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _Staging(path) as staging:
        _write_json(staging / "value.tmp", value, path).replace(path)


def write_file(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically; raises what ``write`` raises, or OSError."""
    with _Staging(path) as staging:
        temporary = staging / "value.tmp"
        write(temporary)
        _flush(temporary)
        temporary.replace(path)


def check_complete(path: Path) -> None:
    """Raise OSError if ``path`` does not hold a whole JSON text.

    Kineto reports no error when it cannot write: the file is then absent or cut off.
    """
    size = path.stat().st_size if path.exists() else 0
    if size:
        with path.open("rb") as file:
            file.seek(max(0, size - 64))
            if file.read().rstrip().endswith((b"}", b"]")):
                return
    full = shutil.disk_usage(path.parent).free < 1 << 20
    code = errno.ENOSPC if full else errno.EIO
    raise OSError(code, f"{os.strerror(code)}: the trace is incomplete")


def describe(error: Exception, path: Path) -> tuple[str, str]:
    """The note for an error that prevented ``path`` from being written."""
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return "disk-full", f"{path} was not written, the disk is full: {error}"
        return "write-failed", f"{path} could not be written: {error}"
    return "export-failed", f"{path} was not written: {type(error).__name__}: {error}"


class _Staging:
    """A hidden directory beside ``target`` for the time of writing it."""

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(f".{target.name}.{os.getpid()}.tmp")

    def __enter__(self) -> Path:
        self.path.mkdir()
        return self.path

    def __exit__(self, *exception: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def _write_json(temporary: Path, value: Mapping[str, Any], target: Path) -> Path:
    temporary.write_text(json.dumps(value, separators=(",", ":")), encoding="utf-8")
    zipped = gzip_file(temporary) if target.name.endswith(".gz") else temporary
    _flush(zipped)
    return zipped


def gzip_file(plain: Path) -> Path:
    """Write a file zipped beside it, with ``.gz`` behind its name; return that path."""
    zipped = plain.with_name(plain.name + ".gz")
    with plain.open("rb") as source, gzip.open(zipped, "wb", compresslevel=GZIP_LEVEL) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    return zipped


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
