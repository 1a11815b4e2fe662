"""Read a flight recorder's dump as raw columns, and single entries of it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.readers import containers
from tb_privateuse1.readers.decompress import read_bytes
from tb_privateuse1.readers.flight_recorder import document, ranges
from tb_privateuse1.readers.raw import Flows, Group, Progress, Raw
from tb_privateuse1.readers.sqlite.columns import Places, Strings
from tb_privateuse1.trace.collective_entries import SCHEDULED, STARTED, CollectiveEntries
from tb_privateuse1.trace.errors import TraceError, no_event
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.findings import ALL, Finding
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I32

_MOST_BYTES = 1 << 30
"""Some millions of entries; the containers take about ten times the memory."""


def read(path: str, progress: Progress | None = None) -> Raw:
    """Return the entries of a dump, with a range for each.

    Raises TraceError ``unreadable``, ``too_large``, ``not_plain`` (a pickle that is damaged, or not
    made of plain containers), ``not_json`` or ``not_a_trace``.
    """
    parts, size = _parts(path)
    if progress:
        progress("reading", size, size, 0)
    strings = Strings(parts.strings)
    places = Places(strings, "")
    found = ranges.ranges_of(parts.entries, strings, places)
    base = int(found.start_ns.min(initial=found.start_ns[0])) if len(found) else 0
    shifted = replace(found, start_ns=found.start_ns - base, end_ns=found.end_ns - base)
    return Raw(
        base_ns=base,
        strings=tuple(strings.all),
        threads=places.threads(),
        groups={"user_annotation": shifted} if len(found) else {},
        memory=Group.join([]),
        flows=Flows.empty(),
        metadata={},
        findings=(*_findings(parts), _alone()),
        checkpoints=Checkpoints.empty(),
        entries=parts.entries,
        process_names=places.process_names,
    )


def add(raw: Raw, path: str) -> Raw:
    """Return a recording with the entries of a dump of its rank; each entry counts once.

    Raises TraceError as ``read`` does.
    """
    parts, _ = _parts(path)
    joined = _joined(raw, parts)
    found = _findings(parts) if len(joined.entries) > len(raw.entries) else ()
    return replace(joined, findings=(*raw.findings, *found))


def read_entry(path: str, _checkpoints: Checkpoints, event: int) -> Mapping[str, Any]:
    """Return the entry of an event's number with all its fields. Raises TraceError ``no_event``."""
    found = document.entry(_content(path)[0], event)
    if found is None:
        raise no_event(path)
    return {key: value for key, value in found.items() if type(key) is str}


def _joined(raw: Raw, parts: document.Document) -> Raw:
    first = len(raw.strings)
    strings = (*raw.strings, *parts.strings)
    new = parts.entries
    columns = dict(new.columns())
    for name, column in columns.items():
        if column.dtype == np.int32 and name != "event":
            columns[name] = np.where(column >= 0, column + first, NONE).astype(np.int32)
    columns["event"] = np.full(len(new), NONE, np.int32)  # the trace's own file is another
    new = CollectiveEntries(**columns)
    both = [_keys(one, strings) for one in (raw.entries, new)]
    known = set(both[0])
    new = new.take(np.array([key not in known for key in both[1]], np.bool_))
    pairs = zip(raw.entries.columns(), new.columns(), strict=True)
    joined = {name: np.concatenate((one, other)) for (name, one), (_, other) in pairs}
    return replace(raw, strings=strings, entries=CollectiveEntries(**joined))


def _keys(entries: CollectiveEntries, strings: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return what tells an entry from others of its rank, in two dumps of it alike."""

    def texts(column: I32) -> list[str]:
        return [strings[i] if i >= 0 else "" for i in column.tolist()]

    return list(
        zip(
            texts(entries.name),
            texts(entries.group),
            entries.sequence.tolist(),
            entries.created_ns.tolist(),
            strict=True,
        )
    )


@containers.no_collection()
def _parts(path: str) -> tuple[document.Document, int]:
    """Return the columns of a dump, and how many bytes it takes unpacked."""
    content, size = _content(path)
    return document.parse(content, size), size


def _content(path: str) -> tuple[dict[Any, Any], int]:
    """Return the dictionary of a dump, and how many bytes it takes unpacked."""
    data = read_bytes(path, _MOST_BYTES)
    hint = say("Was the job ended while it wrote? The dumps of the other ranks can be read.")
    if data[:1] == b"\x80":
        try:
            content = containers.load(data)
        except containers.NotPlain as error:
            message = say(
                "{path} is no flight recorder dump that can be read: {error}.",
                path=path,
                error=error,
            )
            raise TraceError("not_plain", message, hint) from error
    else:
        try:
            content = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            message = say("{path} is not complete JSON ({error}).", path=path, error=error)
            raise TraceError("not_json", message, hint) from error
    if type(content) is not dict or not {"entries", "pg_config"} & content.keys():
        message = say("{path} is no flight recorder dump of torch.", path=path)
        hint = say("Of pickles, only memory snapshots and dumps of the flight recorder are read.")
        raise TraceError("not_a_trace", message, hint)
    return content, len(data)


def _findings(parts: document.Document) -> tuple[Finding, ...]:
    entries = parts.entries
    found = list(parts.tally.findings())
    open_rows = np.flatnonzero((entries.state == SCHEDULED) | (entries.state == STARTED))
    if len(open_rows):
        first = int(open_rows[0])
        message = say(
            "Collectives that had not ended when the dump was written: {count}. The first is "
            "{name} number {number} of group {group}.",
            count=len(open_rows),
            name=_text(parts, entries.name, first),
            number=_number(int(entries.sequence[first])),
            group=_text(parts, entries.group, first) or "?",
        )
        hint = say("The page Ranks compares the dumps of all ranks.")
        found.append(Finding("collectives_open", message, hint, len(open_rows), "info"))
    return tuple(found)


def _text(parts: document.Document, column: I32, row: int) -> str:
    return parts.strings[column[row]] if column[row] >= 0 else ""


def _number(sequence: int) -> str:
    return "?" if sequence == MISSING else f"{sequence:,}"


def _alone() -> Finding:
    message = say(
        "A flight recorder has the collectives of its rank alone: no operators, no steps and no "
        "device activities. Their times are when the program enqueued them, and when torch "
        "noticed that they had started or ended."
    )
    hint = say("A trace of the same rank in the same directory shows what else it did.")
    return Finding("flight_recorder_alone", message, hint, severity="info", affects=ALL)
