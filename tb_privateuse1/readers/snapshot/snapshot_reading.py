"""Read a memory snapshot as raw columns, and single entries of it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from tb_privateuse1 import vendors
from tb_privateuse1.i18n import say
from tb_privateuse1.readers import containers
from tb_privateuse1.readers.decompress import read_bytes
from tb_privateuse1.readers.raw import Flows, Group, Progress, Raw
from tb_privateuse1.readers.snapshot import columns, completion, document
from tb_privateuse1.trace.errors import TraceError, no_event
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.model import MISSING, Threads
from tb_privateuse1.vendors.device_types import PRIVATEUSE1

_MOST_BYTES = 1 << 30
"""Some millions of entries; the containers take about ten times the memory."""
_KEYS = {"segments", "device_traces"}


def read(path: str, progress: Progress | None = None) -> Raw:
    """Return the memory events of a snapshot; it has no others.

    Raises TraceError ``unreadable``, ``too_large``, ``not_plain`` (the file is damaged, or not made
    of plain containers) or ``not_a_trace``.
    """
    parts, size = _parts(path)
    if progress:
        progress("reading", size, size, 0)
    strings = ("[memory]", "0", say("Allocator"), *parts.stacks)
    kind = device_type(parts.backend)
    events = columns.memory_events(parts, kind, 0, 3)
    base = min(events.start_ns[events.start_ns > 0].tolist(), default=0)
    one = np.array([1], np.int32)
    metadata = {"tb_privateuse1": {"backend": parts.backend}} if parts.backend else {}
    return Raw(
        base_ns=base,
        strings=strings,
        threads=Threads(one, one.copy(), np.array([2], np.int32)),
        groups={},
        memory=_shifted(events, base),
        flows=Flows.empty(),
        metadata=metadata,
        findings=(*_findings(parts), _alone()),
        checkpoints=Checkpoints.empty(),
        memory_blocks=columns.memory_blocks(parts, kind, 3),
        refusals=tuple(parts.refusals),
    )


def add(raw: Raw, path: str) -> Raw:
    """Return the trace with what a snapshot beside it adds. Raises TraceError as ``read`` does."""
    parts, _ = _parts(path)
    kind = completion.device_type(raw)
    named = device_type(parts.backend) if kind is None else kind
    first = len(raw.strings)
    events = columns.memory_events(parts, named, first, first + 1)
    history = events.take(events.start_ns > 0)  # blocks without a history have no time
    inside = completion.within(raw, history)
    raw = replace(
        raw,
        strings=(*raw.strings, "[memory]", *parts.stacks),
        memory_blocks=columns.memory_blocks(parts, named, first + 1),
        refusals=tuple(parts.refusals),
    )
    raw, count = completion.with_events(raw, inside)
    found = list(_findings(parts))
    if len(history) and not len(inside):
        message = say("The memory snapshot beside the trace has no event in the trace's time.")
        hint = say("Does the trace count Unix time? Open the snapshot by itself.")
        found.append(Finding("snapshot_elsewhere", message, hint, affects=("memory",)))
    if count:
        message = say("The device's memory is that of the memory snapshot beside the trace.")
        hint = say("Sizes are those that the program asked for; the allocator rounds them up.")
        info = Finding("memory_of_snapshot", message, hint, count, "info", ("memory",))
        found.append(info)
    return replace(raw, findings=(*raw.findings, *found))


def read_entry(path: str, _checkpoints: Checkpoints, event: int) -> Mapping[str, Any]:
    """Return the entry of an event's number with all its fields. Raises TraceError ``no_event``."""
    found = document.entry(_content(path)[0], event)
    if found is None:
        raise no_event(path)
    return {key: value for key, value in found.items() if type(key) is str}


def device_type(backend: str | None) -> int:
    """Return the ``c10::DeviceType`` of a device by torch's name, ``MISSING`` without a name."""
    if backend is None:
        return int(MISSING)
    types = vendors.detect(backend).device_types
    return min(types, default=PRIVATEUSE1)


@containers.no_collection()
def _parts(path: str) -> tuple[document.Document, int]:
    """Return the columns of a snapshot, and how many bytes it takes as a pickle."""
    content, size = _content(path)
    return document.parse(content, size), size


def _content(path: str) -> tuple[dict[Any, Any], int]:
    """Return the dictionary of a snapshot, and how many bytes it takes as a pickle."""
    data = read_bytes(path, _MOST_BYTES)
    try:
        content = containers.load(data)
    except containers.NotPlain as error:
        message = say(
            "{path} is no memory snapshot that can be read: {error}.", path=path, error=error
        )
        hint = say("Only plain lists, dictionaries, texts and numbers are read of a pickle.")
        raise TraceError("not_plain", message, hint) from error
    if type(content) is not dict or not _KEYS & content.keys():
        message = say("{path} is a pickle, but no memory snapshot of torch.", path=path)
        raise TraceError("not_a_trace", message)
    return content, len(data)


def _shifted(events: Group, base: int) -> Group:
    """Return the events with times since ``base``; those without a time are at 0."""
    at_ns = np.maximum(events.start_ns - base, 0)
    return replace(events, start_ns=at_ns, end_ns=at_ns.copy())


def _findings(parts: document.Document) -> tuple[Finding, ...]:
    found = list(parts.tally.findings())
    count, size = columns.refusals(parts)
    if count:
        message = say(
            "The allocator ran out of memory {count} times; it was asked for up to {mib:,.1f} MiB.",
            count=count,
            mib=size / 2**20,
        )
        found.append(Finding("out_of_device_memory", message, count=count))
    return tuple(found)


def _alone() -> Finding:
    message = say("A memory snapshot has no operators, no steps and no device activities.")
    hint = say("Record a trace with it: capture.profile(memory_snapshot=True) writes both.")
    return Finding("snapshot_alone", message, hint, severity="info", affects=DEVICE)
