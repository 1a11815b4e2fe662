"""Say what a file is that no reader reads, and what to do with it.

The first bytes decide; the name helps where a format has no mark of its own. Marks are from the
formats' documents (Git LFS, SQLite, Parquet, Arrow, LZ4, 7-Zip, RAR, OpenSSL's ``enc``, age).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tb_privateuse1.discovery.file import basename
from tb_privateuse1.i18n import Text, fill, say
from tb_privateuse1.readers.decompress import first_bytes
from tb_privateuse1.trace.errors import TraceError

_HEAD_BYTES = 512
_ANY = re.compile(b"")
_NO_NAME = re.compile("$.")


class _Kind(NamedTuple):
    message: Text
    hint: Text
    head: re.Pattern[bytes] = _ANY
    name: re.Pattern[str] = _NO_NAME
    """Where there is a name, the first bytes alone are not enough."""


def _kind(message: Text, hint: Text, head: bytes = b"", name: str = "") -> _Kind:
    flags = re.IGNORECASE
    return _Kind(message, hint, re.compile(head, flags | re.DOTALL), re.compile(name, flags))


_UNPACK = say("Unpack it. Files packed with gzip, zstd, xz or bzip2 are read as they are.")
_EXPORTED = say("Open the recording from which it was made.")
_RAW_TIMELINE = say(
    "Export the events, which are read: export_memory_timeline('NAME.raw.json.gz')."
)
_DATABASE = _kind(
    say("{path} is a database of another tool."),
    say("Record with torch.profiler, or with the profiler of the device's vendor."),
    rb"SQLite format 3\0",
)

_KINDS = (
    _kind(
        say("{path} is a pointer of Git LFS, not the file itself."),
        say("Run git lfs pull in its repository."),
        rb"version https://git-lfs\.github\.com/spec/",
    ),
    _kind(
        say("{path} is a pointer of git-annex, not the file itself."),
        say("Run git annex get in its repository."),
        rb"(?:\S*/)?annex/objects/",
    ),
    _kind(
        say("{path} is a picture of torch's memory timeline."),
        _RAW_TIMELINE,
        rb"<html>\s*<head><meta charset=\"utf-8\" /><title>GPU Memory Timeline HTML",
    ),
    _kind(
        say("{path} is a memory timeline of torch with sums by category, without their events."),
        _RAW_TIMELINE,
        rb"\s*\[\s*\[\s*\d+\s*[,\]]",
    ),
    _kind(
        say("{path} is a web page or an XML document."),
        say("Was it a login page or the error of a server? Download the file itself."),
        rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|head|\?xml)",
    ),
    _kind(
        say("{path} is encrypted."),
        say("Decrypt it first."),
        rb"Salted__|age-encryption\.org/|-----BEGIN (?:PGP|AGE)",
    ),
    _kind(
        say("{path} is encrypted."),
        say("Decrypt it first."),
        rb"[^{\[]",
        r"\.(?:enc|gpg|pgp|age)$",
    ),
    _kind(
        say("{path} is a recording of Nsight Systems that was not imported yet."),
        say("Import it with Nsight Systems, then export it: nsys export --type sqlite"),
        rb"[^{\[]",
        r"\.qdstrm$",
    ),
    _kind(
        say("{path} is a report of Nsight Compute: it has kernels alone, without their times."),
        say("Record with torch.profiler, or open it in Nsight Compute."),
        rb"[^{\[]",
        r"\.ncu-rep$",
    ),
    _kind(
        say("{path} is a profile of XProf (JAX, TensorFlow)."),
        say("Open it with XProf. The trace.json.gz that it can write for its viewer is read."),
        rb"\x0a",
        r"\.xplane\.pb$",
    ),
    _kind(
        say("{path} is a Python pickle that is not read."),
        say("Loading a pickle may run code. Open the recording's trace."),
        rb"\x80[\x02-\x05]",
    ),
    _DATABASE,
    _kind(say("{path} is a table of Parquet or Arrow."), _EXPORTED, rb"PAR1|ARROW1\0"),
    _kind(say("{path} is packed with LZ4."), _UNPACK, rb"\x04\x22\x4d\x18"),
    _kind(say("{path} is an archive of 7-Zip."), _UNPACK, rb"7z\xbc\xaf\x27\x1c"),
    _kind(say("{path} is an archive of RAR."), _UNPACK, rb"Rar!\x1a\x07"),
    _kind(
        say("{path} has only zeros where it begins."),
        say("Was the disk full, or was the file not copied whole? Copy it again."),
        rb"\0{16}",
    ),
)


def recognize(path: str, error: TraceError) -> TraceError:
    """Return the error that says what an unreadable file is; ``error`` where that is not known."""
    try:
        head = first_bytes(path, _HEAD_BYTES)
    except TraceError:
        return error
    for kind in _KINDS:
        if kind is _DATABASE and error.code == "not_a_database":
            continue  # its reader knows more about it
        if kind.head.match(head) and kind.name.search(basename(path)):
            return TraceError("not_a_trace", fill(kind.message, path=path), kind.hint)
    return error
