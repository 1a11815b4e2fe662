"""Kinds of files that no reader reads: ``KINDS`` says what each is, and what to do with it.

The first bytes decide; the name helps where a format has no mark of its own. Marks are from the
formats' documents (Git LFS, SQLite, Parquet, Arrow, LZ4, 7-Zip, RAR, OpenSSL's ``enc``, age) and
from what torch writes (torch/profiler/_memory_profiler.py, torch/autograd/profiler_util.py).
"""

from __future__ import annotations

import re

from tb_privateuse1.discovery.file import basename
from tb_privateuse1.discovery.formats import OTHER_HEAD_BYTES, OtherKind
from tb_privateuse1.i18n import Text, fill, say
from tb_privateuse1.readers.companion_heads import execution_trace_process, log_process
from tb_privateuse1.trace.errors import TraceError


def _kind(
    message: Text,
    hint: Text,
    head: bytes = b"",
    name: str = "",
    *,
    is_listed: bool = False,
    suffixes: tuple[str, ...] = (),
) -> OtherKind:
    flags = re.IGNORECASE
    return OtherKind(
        message=message,
        hint=hint,
        head=re.compile(head, flags | re.DOTALL).match,
        name=re.compile(name, flags),
        is_listed=is_listed,
        suffixes=suffixes,
    )


def are_stacks(text: bytes) -> bool:
    """Return whether a text is of collapsed stacks: ``frame;frame;frame count`` in each line."""
    lines = text.splitlines()
    if len(lines) > 1 and not text.endswith(b"\n"):
        lines.pop()  # the text goes on
    parts = [line.rpartition(b" ") for line in lines]
    return any(b";" in frames for frames, _, _ in parts) and all(
        count.isdigit() and all(map(bytes.strip, frames.split(b";"))) for frames, _, count in parts
    )


_ANY_NAME = re.compile("")
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

KINDS = (
    _kind(
        say("{path} is a pointer of Git LFS, not the file itself."),
        say("Run git lfs pull in its repository."),
        rb"version https://git-lfs\.github\.com/spec/",
        is_listed=True,
    ),
    _kind(
        say("{path} is a pointer of git-annex, not the file itself."),
        say("Run git annex get in its repository."),
        rb"(?:\S*/)?annex/objects/",
        is_listed=True,
    ),
    _kind(
        say("{path} is a picture of torch's memory timeline."),
        _RAW_TIMELINE,
        rb"<html>\s*<head><meta charset=\"utf-8\" /><title>GPU Memory Timeline HTML",
        is_listed=True,
        suffixes=(".html",),
    ),
    _kind(
        say("{path} is a memory timeline of torch with sums by category, without their events."),
        _RAW_TIMELINE,
        rb"\s*\[\s*\[\s*\d+\s*[,\]]",
        is_listed=True,
    ),
    OtherKind(
        message=say("{path} is an execution trace of torch: it has no times."),
        hint=say("Put the Kineto trace of the same process beside it, and open that."),
        head=lambda text: execution_trace_process(text) is not None,
        name=_ANY_NAME,
        is_listed=True,
    ),
    OtherKind(
        message=say("{path} is torch's log of compilation (TORCH_TRACE)."),
        hint=say(
            "Put the trace of the same process beside it, and open that. tlparse reads it alone."
        ),
        head=lambda text: log_process(text) is not None,
        name=_ANY_NAME,
        is_listed=True,
        suffixes=(".log",),
    ),
    OtherKind(
        message=say("{path} has collapsed stacks: sums of times by stack, without their events."),
        hint=say("Open its recording; or draw the stacks: tb-privateuse1 stacks FILE -o DIR"),
        head=are_stacks,
        name=_ANY_NAME,
        is_listed=True,
        suffixes=(".txt", ".stacks", ".folded", ".collapsed"),
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
        is_listed=True,
        suffixes=(".qdstrm",),
    ),
    _kind(
        say("{path} is a report of Nsight Compute: it has kernels alone, without their times."),
        say("Record with torch.profiler, or open it in Nsight Compute."),
        rb"[^{\[]",
        r"\.ncu-rep$",
        is_listed=True,
        suffixes=(".ncu-rep",),
    ),
    _kind(
        say("{path} is a profile of XProf (JAX, TensorFlow)."),
        say("Open it with XProf. The trace.json.gz that it can write for its viewer is read."),
        rb"\x0a",
        r"\.xplane\.pb$",
        is_listed=True,
        suffixes=(".xplane.pb",),
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
    from tb_privateuse1.readers.decompress import first_bytes  # the kinds alone need no reader

    try:
        head = first_bytes(path, OTHER_HEAD_BYTES)
    except TraceError:
        return error
    # Of a database that no reader knows, its reader says more.
    kinds = (kind for kind in KINDS if kind is not _DATABASE or error.code != "not_a_database")
    kind = next((kind for kind in kinds if kind.fits(basename(path), head)), None)
    if kind is None:
        return error
    return TraceError("not_a_trace", fill(kind.message, path=path), kind.hint)
