"""Read a memory timeline as raw columns, and single entries of it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from tb_privateuse1.i18n import say
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.readers.memory_timeline import EVENT
from tb_privateuse1.readers.raw import Counters, Flows, Group, Progress, Raw
from tb_privateuse1.trace.errors import TraceError, no_event
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.model import Threads
from tb_privateuse1.trace.recorded_counters import CounterSamples, CounterSeries
from tb_privateuse1.trace.table import I64

CREATED, NEW_VERSION, RELEASED = 2, 3, 4
_ACTIONS = ("preexisting", "create", "increment_version", "destroy")
CATEGORIES = (
    "Parameter", "Optimizer state", "Input", "Temporary", "Activation", "Gradient",
    "Autograd detail", "Unknown",
)  # fmt: skip
_LIMIT = 1 << 61
_MOST_BYTES = 1 << 30
_LARGEST = 1 << 48


def read(path: str, progress: Progress | None = None) -> Raw:
    """Return the changes of memory; of a file that is cut or damaged those that are whole.

    Raises TraceError ``unreadable``, ``too_large`` or ``not_a_trace``.
    """
    tally = Tally()
    events = read_events(path, tally, progress)
    number = find_possible(events, tally)
    at_ns, action, size, category = events[number].T
    base = int(at_ns[at_ns > 0].min(initial=_LIMIT)) if (at_ns > 0).any() else 0
    at_ns = np.maximum(at_ns - base, 0)  # what was there before has no time
    lasting = np.flatnonzero(action != NEW_VERSION)
    counters = sums(at_ns, size, category, number, 3, 1)
    return Raw(
        base_ns=base,
        strings=(
            "[memory]",
            "0",
            say("Allocator"),
            say("Memory by category (bytes)"),
            *CATEGORIES,
        ),
        threads=Threads(*(np.array([i], np.int32) for i in (1, 1, 2))),
        groups={},
        memory=_changes(at_ns[lasting], size[lasting], number[lasting]),
        flows=Flows.empty(),
        metadata={},
        findings=(*tally.findings(), _alone()),
        counters=counters,
    )


def read_events(path: str, tally: Tally, progress: Progress | None = None) -> I64:
    """Return the events as rows of time, action, size and category; what is wrong is counted.

    Raises TraceError as ``read``.
    """
    source = Source(path, progress)
    parts, length = [], 0
    for block in source.blocks():
        length += len(block)
        if length > _MOST_BYTES:
            message = say("{path} is larger than {limit:,} bytes.", path=path, limit=_MOST_BYTES)
            raise TraceError("too_large", message)
        parts.append(block)
    text = b"".join(parts)
    try:
        found: list[Any] = msgspec.json.decode(text, type=list[tuple[int, int, int, int]])
        events = np.array(found, np.int64).reshape(-1, 4)
        valid = (events[:, 1] >= 1) & (events[:, 1] <= 4)
        valid &= (events[:, 3] >= 0) & (events[:, 3] < len(CATEGORIES))
        tally.add(
            "malformed_events", int((~valid).sum()), found[int(valid.argmin())] if found else ""
        )
        events = events[valid]
    except (msgspec.DecodeError, UnicodeDecodeError, OverflowError):
        whole = [tuple(map(int, match)) for match in EVENT.findall(text)]
        kept = [event for event in whole if max(map(abs, event)) < 1 << 63]
        events = np.array(kept, np.int64).reshape(-1, 4)
        is_cut = source.fault == "cut" or not text.rstrip().endswith(b"]")
        tally.add("truncated" if is_cut else "damaged", 1, text[:60])
    if source.fault == "damaged":
        tally.add("gzip_damaged")
    if not len(events):
        message = say("{path} is no memory timeline of torch.", path=path)
        raise TraceError("not_a_trace", message)
    return events


def _changes(at_ns: I64, size: I64, number: I64) -> Group:
    """Return allocations and releases with the total after each."""
    rows = len(at_ns)
    return Group(
        name=np.zeros(rows, np.int32),
        start_ns=at_ns,
        end_ns=at_ns.copy(),
        thread=np.zeros(rows, np.int32),
        event=number.astype(np.int32),
        ids={"memory_bytes": size, "allocated_bytes": np.cumsum(size)},
    )


def find_possible(events: I64, tally: Tally) -> I64:
    """Return the rows of possible times and sizes; the others are counted."""
    possible = (np.abs(events[:, 0]) < _LIMIT) & (np.abs(events[:, 2]) < _LARGEST)
    tally.add("sizes_impossible", int((~possible).sum()))
    return np.flatnonzero(possible)


def sums(at_ns: I64, size: I64, category: I64, number: I64, name: int, process: int) -> Counters:
    """Return the bytes of each category after each of its changes.

    ``name`` is the string of the counters' name, in front of those of the categories.
    """
    used = np.unique(category)
    order = np.argsort(category, kind="stable")
    totals = [np.cumsum(size[category == own]) for own in used.tolist()]
    series = CounterSeries(
        np.full(len(used), name, np.int32),
        (used + name + 1).astype(np.int32),
        np.full(len(used), process, np.int32),
    )
    samples = CounterSamples(
        series=np.searchsorted(used, category[order]).astype(np.int32),
        ts_ns=at_ns[order],
        value=np.concatenate(totals).astype(np.float64),
        event=number[order].astype(np.int32),
    )
    return Counters(series, samples)


def read_event(path: str, _checkpoints: Checkpoints, event: int) -> Mapping[str, Any]:
    """Return the fields of an event by its number. Raises TraceError ``no_event``."""
    events = read_events(path, Tally())
    if not 0 <= event < len(events):
        raise no_event(path)
    at_ns, action, size, category = events[event].tolist()
    return {
        "time_ns": at_ns,
        "action": _ACTIONS[action - 1],
        "bytes": size,
        "category": CATEGORIES[category],
    }


def _alone() -> Finding:
    message = say("A memory timeline has no blocks, no operators and no device activities.")
    hint = say("Record a trace with it, or a memory snapshot, which has blocks and stacks.")
    return Finding("memory_timeline_alone", message, hint, severity="info", affects=DEVICE)
