"""Make the tables of a trace from the records of a log; times are absolute."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.discovery.file import basename
from tb_privateuse1.readers import generated_code
from tb_privateuse1.readers.compile_log import records
from tb_privateuse1.readers.compile_log.lines import Line, LogFile
from tb_privateuse1.readers.compile_log.records import Metrics, Record
from tb_privateuse1.readers.raw import KernelSource
from tb_privateuse1.readers.sqlite.columns import Strings
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.recorded_metadata import (
    CACHE_BYPASS,
    CACHE_HIT,
    CACHE_MISS,
    GRAPH_BREAK,
    GRAPH_SKIP,
    RECOMPILATION,
    Compilations,
    CompileNotes,
)

_MOST_ROWS = 100_000
"""Compilations and notes that are kept: torch gives up a function after 8, or 256 with others."""
_MOST_SOURCES = 32 << 20
"""Letters of generated code that are kept."""
_LIMIT = 1 << 62
_SMALL = 1 << 31
_CACHES = {
    f"{name}_{state}": (short, code)
    for name, short in (("aotautograd_cache", "autograd"), ("fx_graph_cache", "graph"))
    for state, code in (("hit", CACHE_HIT), ("miss", CACHE_MISS), ("bypass", CACHE_BYPASS))
}


class Compiled(Struct):
    """A compilation while its records are read."""

    compile_id: str
    backward: bool = False
    function: str = ""
    file: str = ""
    line: int | None = None
    metrics: Metrics | None = None


class Note(Struct, frozen=True):
    """A row of ``CompileNotes``."""

    kind: int
    compile_id: str
    reason: str
    detail: str = ""
    file: str = ""
    line: int | None = None


class Contents(Struct):
    """The contents of one log."""

    processes: set[int] = set()
    ranks: set[int] = set()
    compiled: dict[tuple[str, bool], Compiled] = {}
    notes: list[Note] = []
    sources: dict[KernelSource, None] = {}
    files: dict[int, str] = {}
    letters: int = 0
    truncated: bool = False
    damages: int = 0


def contents(path: str) -> Contents:
    """Return what a log has. Raises TraceError ``unreadable`` or ``too_large``."""
    file = LogFile(path, records.KINDS)
    found = Contents()
    for line in file.records():
        record = records.decoded(line.text)
        if record is None:
            found.damages += 1
            continue
        if len(found.compiled) + len(found.notes) >= _MOST_ROWS:
            found.truncated = True
            break
        found.processes.add(line.process)
        if record.rank is not None:
            found.ranks.add(record.rank)
        _add(found, line, record)
    found.truncated |= file.truncated
    found.damages += file.damages
    return found


def _add(found: Contents, line: Line, record: Record) -> None:
    if record.text is not None:
        found.files[record.text[1]] = record.text[0]
    compile_id = record.compile_id
    if record.compilation_metrics is not None:
        _measure(found, compile_id, record.compilation_metrics, backward=False)
    elif record.bwd_compilation_metrics is not None:
        _measure(found, compile_id, record.bwd_compilation_metrics, backward=True)
    elif record.inductor_output_code is not None:
        _add_sources(found, record.inductor_output_code.filename, line.payload)
    elif compile_id is None:
        return
    elif record.dynamo_start is not None:
        one = _of(found, compile_id, backward=False)
        for frame in record.dynamo_start.stack[-1:]:
            one.function, one.line = frame.name, frame.line
            one.file = found.files.get(frame.filename, "")
    elif record.artifact is not None:
        _add_artifact(found, compile_id, record.artifact.name, line.payload)


def _add_artifact(found: Contents, compile_id: str, name: str, payload: bytes) -> None:
    if name == "dynamo_graph_break_reason":
        one = records.graph_break(payload)
        note = Note(GRAPH_BREAK, compile_id, one.reason, one.advice, one.file, one.line)
    elif name == "recompile_reasons":
        reasons, file, number = records.recompilation(payload)
        detail = records.shorten("\n".join(reasons[1:]))
        note = Note(RECOMPILATION, compile_id, reasons[0], detail, file, number)
    elif name in _CACHES:
        cache, kind = _CACHES[name]
        note = Note(kind, compile_id, cache, records.graph_key(payload))
    else:
        return
    found.notes.append(note)


def _measure(found: Contents, context: str | None, metrics: Metrics, *, backward: bool) -> None:
    compile_id = metrics.compile_id or context
    if compile_id is None:
        return
    one = _of(found, compile_id, backward=backward)
    one.metrics = metrics
    if metrics.co_name:
        one.function, one.file = metrics.co_name, metrics.co_filename or one.file
        one.line = one.line if metrics.co_firstlineno is None else metrics.co_firstlineno
    if metrics.cudagraph_skip_reason:
        reason = records.first_line(metrics.cudagraph_skip_reason)
        found.notes.append(Note(GRAPH_SKIP, compile_id, reason))


def _of(found: Contents, compile_id: str, *, backward: bool) -> Compiled:
    one = Compiled(compile_id, backward)
    known = found.compiled.get((compile_id, False)) or _same_frame(found, compile_id)
    if known is not None:
        one = replace(known, compile_id=compile_id, backward=backward, metrics=None)
    return found.compiled.setdefault((compile_id, backward), one)


def _same_frame(found: Contents, compile_id: str) -> Compiled | None:
    """Return the first compilation of the same code, which torch numbers in front of the slash."""
    frame, slash, _ = compile_id.rpartition("/")
    return found.compiled.get((f"{frame}/0", False)) if slash else None


def _add_sources(found: Contents, filename: str, payload: bytes) -> None:
    text = payload.decode("utf-8", "replace")
    found.letters += len(text)
    if found.letters > _MOST_SOURCES:
        found.truncated = True
        return
    found.sources.update(dict.fromkeys(generated_code.kernels(basename(filename), text)))


def compilations(found: Contents, strings: Strings) -> Compilations:
    """Return the table of what was compiled."""
    rows = [_row(one, strings) for one in found.compiled.values()]
    columns = [*zip(*rows, strict=True)] or [()] * len(Compilations.column_types())
    types = Compilations.column_types().items()
    return Compilations(**{n: np.array(c, t) for (n, t), c in zip(types, columns, strict=True)})


def notes(found: Contents, strings: Strings) -> CompileNotes:
    """Return the table of what the log says of compilations."""
    rows = [
        (
            one.kind,
            strings.index(one.compile_id),
            strings.index(one.reason),
            _text(one.detail, strings),
            _text(one.file, strings),
            _small(one.line),
        )
        for one in found.notes
    ]
    columns = [*zip(*rows, strict=True)] or [()] * len(CompileNotes.column_types())
    types = CompileNotes.column_types().items()
    return CompileNotes(**{n: np.array(c, t) for (n, t), c in zip(types, columns, strict=True)})


def _row(one: Compiled, strings: Strings) -> tuple[Any, ...]:
    own = one.metrics or Metrics()
    total = own.entire_frame_compile_time_s
    if total is None and own.duration_us is not None and 0 <= own.duration_us < _LIMIT:
        total = own.duration_us / 1e6
    failure = own.fail_reason or own.fail_type or ""
    return (
        strings.index(one.compile_id),
        one.backward,
        _text(one.function, strings),
        _text(one.file, strings),
        _small(one.line),
        _ns(own.start_time),
        _ns(total),
        _ns(own.backend_compile_time_s),
        _ns(own.inductor_compile_time_s),
        _ns(own.code_gen_time_s),
        _small(own.guard_count),
        _small(own.graph_op_count),
        _text(records.first_line(failure), strings),
    )


def _text(text: str, strings: Strings) -> int:
    return strings.index(text) if text else NONE


def _small(number: int | None) -> int:
    return number if number is not None and 0 <= number < _SMALL else NONE


def _ns(seconds: float | None) -> int:
    if seconds is None or not 0 <= seconds < _LIMIT / 1e9:
        return int(MISSING)
    return round(seconds * 1e9)
