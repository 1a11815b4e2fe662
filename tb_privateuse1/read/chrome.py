"""Chrome trace JSON as torch's Kineto and Python exporters write it, plain or gzipped.

Supported: an object with ``traceEvents`` or a bare list; events ``X``, ``i`` (``[memory]``),
``s``/``f``, ``M``; numbers as numbers or strings; categories in any spelling (they are kept as
they are). Other phases are counted and reported. Format: the Chrome Trace Event Format;
torch/csrc/profiler and libkineto/src/output_json.cpp for the arguments.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from typing import Any, BinaryIO

import msgspec
from isal import igzip, igzip_lib

from tb_privateuse1.read import numbers
from tb_privateuse1.read.base import Progress, Raw
from tb_privateuse1.read.columns import Builder
from tb_privateuse1.read.events import Event, ExactEvent
from tb_privateuse1.trace import Finding, TraceError

_BLOCK = 8 << 20

# isal's type stubs call its exception a value.
_BROKEN: tuple[type[Exception], ...] = (OSError, zlib.error, igzip_lib.IsalError)  # type: ignore[assignment]


def read(path: str, progress: Progress | None = None) -> Raw:
    """The columns of one trace file.

    Raises TraceError ``unreadable`` (the file cannot be opened or unpacked), ``not_json`` or
    ``not_a_trace``.
    """
    keys = top_level(path, progress)
    events, findings = _events(keys.pop("traceEvents"))
    metadata = {key: value for key, raw in keys.items() if (value := _value(raw)) is not None}
    if progress:
        progress("reading", 1, 1, len(events))
    return _columns(events, metadata, findings)


def read_bytes(path: str, progress: Progress | None = None) -> bytes:
    """The unpacked content of a plain or gzipped file (told apart by its first bytes)."""
    try:
        with open(path, "rb") as file:
            total = file.seek(0, 2)
            file.seek(0)
            gzipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            source: Any = igzip.open(file) if gzipped else file  # type: ignore[no-untyped-call]
            return b"".join(_blocks(source, file, total, progress))
    except EOFError as error:
        hint = "Was the job killed while it wrote? Remove the file or record the run again."
        raise TraceError("unreadable", f"{path}: the gzip stream ends early.", hint) from error
    except _BROKEN as error:
        raise TraceError("unreadable", f"{path} cannot be read: {error}") from error


def _blocks(source: Any, file: BinaryIO, total: int, progress: Progress | None) -> Iterable[bytes]:
    while block := source.read(_BLOCK):
        if progress:
            progress("reading", file.tell(), total, 0)
        yield block


def top_level(path: str, progress: Progress | None = None) -> dict[str, msgspec.Raw]:
    """The file's top-level keys, undecoded; a bare list counts as ``traceEvents``.

    Raises TraceError as ``read`` does.
    """
    data = read_bytes(path, progress)
    try:
        start = data[:64].lstrip()[:1]
        if start == b"[":
            return {"traceEvents": msgspec.Raw(data)}
        keys = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError as error:
        raise TraceError("not_a_trace", f"{path} is no profiler trace ({error}).") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        empty = "is empty" if not data.strip() else f"is not complete JSON ({error})"
        hint = "Was it cut off? A file that is still being written can be read once it is whole."
        raise TraceError("not_json", f"{path} {empty}.", hint) from error
    if "traceEvents" not in keys:
        raise TraceError("not_a_trace", f"{path} has no traceEvents: it is no profiler trace.")
    return keys


def _value(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _events(raw: msgspec.Raw) -> tuple[list[Event], list[Finding]]:
    events, findings = _decode(raw, Event)
    timed = [e.ts for e in events if e.ph == "X"]
    if timed and not numbers.fits_float(timed):
        return _decode(raw, ExactEvent)
    return events, findings


def _decode(raw: msgspec.Raw, kind: type[Event]) -> tuple[list[Event], list[Finding]]:
    try:
        events: list[Event] = msgspec.json.decode(raw, type=list[kind])  # type: ignore[valid-type]
        return events, []
    except msgspec.ValidationError:
        return _decode_each(raw, kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceError("not_json", f"The trace's events are broken JSON ({error}).") from error


def _decode_each(raw: msgspec.Raw, kind: type[Event]) -> tuple[list[Event], list[Finding]]:
    """One odd event must not cost the trace: decode them singly and count what is dropped."""
    decoder = msgspec.json.Decoder(kind)
    events: list[Event] = []
    odd: list[str] = []
    try:
        singles = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except msgspec.ValidationError as error:
        message = f"traceEvents is no list of events ({error})."
        raise TraceError("not_a_trace", message) from error
    for one in singles:
        try:
            events.append(decoder.decode(one))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            odd.append(str(error))
    message = f"{len(odd)} events have fields of an impossible kind, for example: {odd[0]}"
    return events, [Finding("malformed_events", message, count=len(odd))]


def _columns(events: list[Event], metadata: dict[str, Any], findings: list[Finding]) -> Raw:
    builder = Builder(metadata)
    by_kind: dict[tuple[str, str | None], list[Event]] = {}
    for event in events:
        key = (event.ph, event.cat)
        if key in by_kind:
            by_kind[key].append(event)
        else:
            by_kind[key] = [event]
    others: Counter[str] = Counter()
    for (phase, category), group in by_kind.items():
        if phase == "X":
            builder.ranges(category or "", group)
        elif phase in "sf":
            builder.flows(category or "", group, finish=phase == "f")
        elif phase == "M":
            builder.labels(group)
        elif phase in "iI":
            builder.memory([e for e in group if e.name == "[memory]"])
        else:
            others[phase] += len(group)
    for phase, count in others.items():
        message = f"{count} events of phase {phase!r} are not shown."
        findings.append(Finding("phase_not_shown", message, count=count))
    return builder.raw(findings)
