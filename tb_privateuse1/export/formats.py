"""The registry of export formats, and how a trace is written in each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from tb_privateuse1 import readers
from tb_privateuse1.analysis.counters import counters
from tb_privateuse1.discovery.formats import stem
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.export import atomic_output, chrome, collapsed, perfetto, table_files
from tb_privateuse1.export.time_window import EVERYTHING, Window
from tb_privateuse1.i18n import say
from tb_privateuse1.storage.ingest import without_paths
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace

FormatName = Literal["chrome", "perfetto", "stacks", "parquet", "csv"]


class Format(Struct, frozen=True):
    """The title, file suffix and content type of a format."""

    title: str
    suffix: str
    """The suffix of the file to download: gzipped, or an archive of one file per table."""
    mime: str


FORMATS: Mapping[FormatName, Format] = {
    "chrome": Format(say("Chrome trace"), ".pt.trace.json.gz", "application/gzip"),
    "perfetto": Format(say("Perfetto trace"), ".perfetto-trace.gz", "application/gzip"),
    "stacks": Format(say("Collapsed stacks"), ".stacks.txt.gz", "application/gzip"),
    "parquet": Format(say("All tables as Parquet"), ".parquet.zip", "application/zip"),
    "csv": Format(say("All tables as CSV"), ".csv.zip", "application/zip"),
}


def filename(name: FormatName, files: TraceFiles, window: Window = EVERYTHING) -> str:
    """Return the name of a format's file: the trace's name, in characters safe on any system.

    That of a part of a recording has its limits in ns; an open one has none.
    """
    base = stem(files.trace.name, readers.READERS) or files.trace.name
    base = re.sub(r"(\.pt)?(\.trace)?$", "", base)
    limits = ("" if limit is None else limit for limit in (window.start_ns, window.end_ns))
    part = "" if window.whole else ".{}-{}ns".format(*limits)
    return re.sub(r"[^A-Za-z0-9._-]+", "_", base)[-100:].lstrip(".") + part + FORMATS[name].suffix


def stream(
    name: FormatName, trace: Trace, files: TraceFiles, window: Window = EVERYTHING
) -> Iterator[bytes]:
    """Yield the one file of a format, compressed, while it is made. Raises TraceError.

    Users' own metadata in the trace file are left out: viewers of the dashboard may not see them.
    """
    if name in ("parquet", "csv"):
        return table_files.archive(name, trace, window)
    return atomic_output.gzipped(_parts(name, trace, files, window, chrome.KNOWN))


def save(
    name: FormatName, path: str, trace: Trace, files: TraceFiles, window: Window = EVERYTHING
) -> None:
    """Write a format to a path, gzipped if it ends in ``.gz``.

    Tables go into a directory of that name, or into an archive if it ends in ``.zip``. Raises
    TraceError ``unwritable``, or what reading the trace file again raises.
    """
    if name not in ("parquet", "csv"):
        atomic_output.save(path, _parts(name, trace, files, window))
    elif path.endswith(".zip"):
        atomic_output.save(path, table_files.archive(name, trace, window))
    else:
        table_files.directory(name, path, trace, window)


def _parts(
    name: FormatName,
    trace: Trace,
    files: TraceFiles,
    window: Window,
    keys: Collection[str] | None = None,
) -> Iterator[bytes]:
    if name == "perfetto":
        return perfetto.write(trace, window)
    if name == "stacks":
        return collapsed.write(trace, window)
    return _chrome(trace, files, window, keys)


def _chrome(
    trace: Trace, files: TraceFiles, window: Window, keys: Collection[str] | None
) -> Iterator[bytes]:
    """Yield the Chrome trace. It reads the trace file again, so the file must not have changed."""
    try:
        yield from chrome.write(trace, files.trace.path, window, keys, counters.build_curves(trace))
    except TraceError as error:
        raise TraceError(error.code, without_paths(error.message, files), error.hint) from error
    if not files.is_unchanged():
        message = say(
            "{name} changed while it was exported.", name=without_paths(files.trace.path, files)
        )
        raise TraceError("changed", message, say("Export it again."))
