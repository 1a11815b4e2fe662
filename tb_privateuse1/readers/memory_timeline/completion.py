"""Add the memory events of a memory timeline to the trace of the same profiler.

That has the same changes with their addresses, so that the timeline adds the bytes by category. The
changes tell whose it is: it names neither process nor device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.discovery.file import basename
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.memory_timeline.timeline_reading import (
    CATEGORIES,
    CREATED,
    RELEASED,
    find_possible,
    read_events,
    sums,
)
from tb_privateuse1.readers.raw import Counters, Raw
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.recorded_counters import CounterSamples, CounterSeries
from tb_privateuse1.trace.table import I64, Bools, Table


def add(raw: Raw, path: str) -> Raw:
    """Return a recording with the counters of a timeline of its changes of memory.

    A timeline of another recording is a finding. Raises TraceError if it cannot be read.
    """
    tally = Tally()
    events = read_events(path, tally)
    events = events[find_possible(events, tally)]
    shared = _shared(raw, events)
    if 2 * int(shared.sum()) > int(_timed(events).sum()):
        raw = _joined(raw, events, shared, basename(path))
        found = tally.findings()
    else:
        found = (_elsewhere(basename(path)),)
    return replace(raw, findings=(*raw.findings, *found))


def _timed(events: I64) -> Bools:
    """Return which events are changes at a known time."""
    timed: Bools = np.isin(events[:, 1], (CREATED, RELEASED)) & (events[:, 0] > 0)
    return timed


def _shared(raw: Raw, events: I64) -> Bools:
    """Return which memory events of a recording are changes of the timeline.

    Times are compared in whole microseconds, as older files have them.
    """
    mine = np.stack(((raw.memory.start_ns + raw.base_ns) // 1000, raw.memory.id("memory_bytes")))
    changes = events[_timed(events)]
    theirs = np.stack((changes[:, 0] // 1000, changes[:, 2]))
    both = np.concatenate((mine, theirs), axis=1)
    code = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
    shared: Bools = np.isin(code[: mine.shape[1]], code[mine.shape[1] :])
    return shared


def _joined(raw: Raw, events: I64, shared: Bools, name: str) -> Raw:
    """Return a recording with the sums of a timeline's categories as counters."""
    at_ns, _, size, category = events.T
    at_ns = np.maximum(at_ns - raw.base_ns, 0)  # what was there before has no time
    first, known = len(raw.strings), raw.counters
    process = raw.threads.pid[raw.memory.thread[np.flatnonzero(shared)[0]]]
    none = np.full(len(events), NONE, np.int64)  # the numbers are those of another file
    added = sums(at_ns, size, category, none, first, int(process))
    samples = replace(added.samples, series=added.samples.series + np.int32(len(known.series)))
    return replace(
        raw,
        strings=(
            *raw.strings,
            say("Memory by category, of {name} (bytes)", name=name),
            *CATEGORIES,
        ),
        counters=Counters(
            CounterSeries(*_concatenated(known.series, added.series)),
            CounterSamples(*_concatenated(known.samples, samples)),
        ),
    )


def _concatenated(one: Table, other: Table) -> list[Any]:
    pairs = zip(one.columns(), other.columns(), strict=True)
    return [np.concatenate((first, second)) for (_, first), (_, second) in pairs]


def _elsewhere(name: str) -> Finding:
    message = say(
        "The memory timeline {name} is of another recording: most of its changes are not in this "
        "one.",
        name=name,
    )
    hint = say("Nothing of it is used. Open it by itself, or put it into a folder of its own.")
    return Finding("memory_timeline_other", message, hint, severity="info")
