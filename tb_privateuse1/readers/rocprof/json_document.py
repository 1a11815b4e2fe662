"""Parse the JSON of rocprofv3 to records, one table at a time.

The layout is that of rocprofiler-sdk (source/lib/output/generateJSON.cpp): a list of processes,
whose ``buffer_records`` are lists by table. ``kind`` and ``operation`` of a record are places in
``strings.buffer_records``.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from tb_privateuse1.i18n import say
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.chrome.repair import repair_text
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.readers.raw import Progress
from tb_privateuse1.trace.errors import TraceError

_MOST_BYTES = 1 << 30
"""The text is held while a table's records are decoded: together about three times its size."""
_MOST_ENDS = 24
"""A record has fewer closing brackets: of as many at the end of a cut file one ends a record."""
_CLOSING = b"]}}]}"
"""What closes a list of records, the tables, the process, the processes and the file."""
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Record(msgspec.Struct, frozen=True, gc=False):
    """The base of all records; unknown fields are skipped."""


class Handle(Record, frozen=True):
    """A number of an agent, a queue or a stream."""

    handle: int = -1


class Correlation(Record, frozen=True):
    """The number of the call that a record is, or that launched it."""

    internal: int = -1


class Extent(Record, frozen=True):
    """The size of a grid, in work items, or of a block."""

    x: int = -1
    y: int = -1
    z: int = -1


_HANDLE, _CORRELATION, _EXTENT = Handle(), Correlation(), Extent()


class Call(Record, frozen=True):
    """A call of a library, or a range that the program named. Times are ns."""

    kind: int = -1
    operation: int = -1
    start_timestamp: int = -1
    end_timestamp: int = -1
    correlation_id: Correlation = _CORRELATION
    thread_id: int = -1


class DispatchInfo(Record, frozen=True):
    """The place of a dispatch and its launch configuration."""

    agent_id: Handle = _HANDLE
    queue_id: Handle = _HANDLE
    kernel_id: int = -1
    group_segment_size: int = -1
    workgroup_size: Extent = _EXTENT
    grid_size: Extent = _EXTENT


_INFO = DispatchInfo()


class Dispatch(Record, frozen=True):
    """A kernel on a device. ``stream_id`` is of newer versions."""

    start_timestamp: int = -1
    end_timestamp: int = -1
    correlation_id: Correlation = _CORRELATION
    dispatch_info: DispatchInfo = _INFO
    stream_id: Handle = _HANDLE


class Copy(Record, frozen=True):
    """A copy between agents."""

    kind: int = -1
    operation: int = -1
    start_timestamp: int = -1
    end_timestamp: int = -1
    correlation_id: Correlation = _CORRELATION
    src_agent_id: Handle = _HANDLE
    dst_agent_id: Handle = _HANDLE
    bytes: int = -1
    stream_id: Handle = _HANDLE


class Symbol(Record, frozen=True):
    """A kernel's names and registers."""

    kernel_id: int = -1
    formatted_kernel_name: str = ""
    kernel_name: str = ""
    arch_vgpr_count: int = -1
    accum_vgpr_count: int = 0


class Agent(Record, frozen=True):
    """A processor; ``logical_node_type_id`` counts those of its type."""

    id: Handle = _HANDLE
    type: int = -1
    name: str = ""
    product_name: str = ""
    logical_node_type_id: int = -1


class Kind(Record, frozen=True):
    """A kind of records with the names of its operations."""

    kind: str = ""
    operations: tuple[str, ...] = ()


class Message(Record, frozen=True):
    """The text of a range by its correlation."""

    key: int = -1
    value: str = ""


_NO_ROWS = msgspec.Raw(b"[]")
_NO_OBJECT = msgspec.Raw(b"{}")


class Texts(Record, frozen=True):
    """The lists of names."""

    buffer_records: msgspec.Raw = _NO_ROWS
    marker_api: msgspec.Raw = _NO_ROWS


class Node(Record, frozen=True):
    """The host."""

    hostname: str = ""


class Metadata(Record, frozen=True):
    """The process and its host."""

    pid: int = -1
    node: Node = Node()


class ProcessRecord(Record, frozen=True):
    """A process with its tables, which are not decoded yet."""

    metadata: msgspec.Raw = _NO_OBJECT
    agents: msgspec.Raw = _NO_ROWS
    strings: msgspec.Raw = _NO_OBJECT
    kernel_symbols: msgspec.Raw = _NO_ROWS
    buffer_records: msgspec.Raw = _NO_OBJECT


class _File(Record, frozen=True, gc=False, rename={"processes": "rocprofiler-sdk-tool"}):
    processes: list[ProcessRecord]


_R = TypeVar("_R", bound=Record)

# What a class holds must be known before several threads decode it.
_FILE = msgspec.json.Decoder(_File)
_KINDS: tuple[type[Record], ...] = (
    Call, Dispatch, Copy, Symbol, Agent, Kind, Message, Texts, Metadata,
)  # fmt: skip
_ONE: dict[type[Record], Any] = {kind: msgspec.json.Decoder(kind) for kind in _KINDS}
_LIST: dict[type[Record], Any] = {
    kind: msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
    for kind in _KINDS
}


def load(path: str, tally: Tally, progress: Progress | None = None) -> list[ProcessRecord]:
    """Return the processes of a file; of one that is cut those records that are whole.

    Raises TraceError ``unreadable``, ``too_large``, ``not_json`` or ``not_a_trace``.
    """
    source = Source(path, progress)
    parts, length = [], 0
    for block in source.blocks():
        length += len(block)
        if length > _MOST_BYTES:
            message = say("{path} is larger than {limit:,} bytes.", path=path, limit=_MOST_BYTES)
            hint = say("Record the database instead: rocprofv3 --output-format rocpd")
            raise TraceError("too_large", message, hint)
        parts.append(block)
    text = b"".join(parts).removeprefix(b"\xef\xbb\xbf")
    if source.fault == "damaged":
        tally.add("gzip_damaged")
    try:
        return _FILE.decode(text).processes
    except msgspec.ValidationError as error:
        message = say("{path} is no recording of rocprofv3.", path=path)
        raise TraceError("not_a_trace", message) from error
    except _BROKEN as error:
        processes = _until_last_record(text)
        if processes is None:
            message = say("{path} is not complete JSON ({error}).", path=path, error=error)
            hint = say("Was the job killed while it wrote? Its names are needed: record it again.")
            raise TraceError("not_json", message, hint) from error
        tally.add("truncated")
        return processes


def rows(text: msgspec.Raw, kind: type[_R], tally: Tally) -> list[_R | None]:
    """Return the records of a list; None for each that is damaged, which is counted."""
    try:
        return list(_LIST[kind].decode(text))
    except _BROKEN:
        pass
    repaired, problems = repair_text(bytes(text))
    tally.merge(problems)
    if not (found := texts(msgspec.Raw(repaired))):
        tally.add("malformed_events", 1, repaired[:100])
    return [_record(each, kind, tally) for each in found]


def one(text: msgspec.Raw, kind: type[_R], tally: Tally) -> _R:
    """Return an object; one without fields if it is damaged."""
    try:
        decoded: _R = _ONE[kind].decode(text)
    except _BROKEN:
        tally.add("metadata_damaged", 1, bytes(text)[:100])
        return kind()
    return decoded


def tables(process: ProcessRecord, tally: Tally) -> dict[str, msgspec.Raw]:
    """Return the tables of a process, not decoded yet."""
    try:
        return msgspec.json.decode(process.buffer_records, type=dict[str, msgspec.Raw])
    except _BROKEN:
        tally.add("malformed_events", 1, bytes(process.buffer_records)[:100])
        return {}


def texts(table: msgspec.Raw) -> list[msgspec.Raw]:
    """Return the records of a table, not decoded; none if it cannot be read even repaired."""
    try:
        return msgspec.json.decode(table, type=list[msgspec.Raw])
    except _BROKEN:
        pass
    try:
        return msgspec.json.decode(repair_text(bytes(table))[0], type=list[msgspec.Raw])
    except _BROKEN:
        return []


def fields(text: msgspec.Raw) -> dict[str, Any]:
    """Return all fields of a record; none of one that is damaged."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except _BROKEN:
        return {}


def _record(text: msgspec.Raw, kind: type[_R], tally: Tally) -> _R | None:
    try:
        decoded: _R = _ONE[kind].decode(text)
    except _BROKEN:
        tally.add("malformed_events", 1, bytes(text))
        return None
    return decoded


def _until_last_record(text: bytes) -> list[ProcessRecord] | None:
    end = len(text)
    for _ in range(_MOST_ENDS):
        end = text.rfind(b"}", 0, end)
        if end < 0:
            return None
        try:
            found = _FILE.decode(text[: end + 1] + _CLOSING).processes
        except _BROKEN:
            continue
        has_records = any(bytes(process.buffer_records) != b"{}" for process in found)
        return found if has_records else None
    return None
