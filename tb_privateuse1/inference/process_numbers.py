"""Number the processes of a file: thread and stream ids are unique in one process only."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.inference.stage_inputs import rows_of
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.trace.groupby import split_by_value
from tb_privateuse1.trace.model import Launches, Threads
from tb_privateuse1.trace.table import I32, I64, Bools


def process_numbers(threads: Threads, thread: I32) -> I32:
    """Return the number of each event's process, from 0 for those of the first thread."""
    if not len(thread):
        return np.zeros(0, np.int32)
    _, number = np.unique(threads.pid, return_inverse=True)
    return number.astype(np.int32)[thread]


def stream_owners(launches: Launches, process: I32, events: Group, lane: I32) -> I32:
    """Return the number of the process that launched each activity.

    A stream is of the process whose calls explain it: each activity has a call of its correlation
    that began before it. Of several, it is one that has no stream yet; then the one whose calls
    stand before it in the file, as files are joined one behind the other.
    """
    owners = np.unique(process)
    if len(owners) < 2:
        return np.full(len(events), owners[0] if len(owners) else 0, np.int32)
    able: dict[int, list[int]] = {}
    streams = dict(split_by_value(lane))
    for stream, rows in streams.items():
        explained = [_explained(launches, process == one, events, rows) for one in owners.tolist()]
        most = max(explained)
        able[stream] = [int(owners[i]) for i, count in enumerate(explained) if count == most]
    owner = np.zeros(len(events), np.int32)
    taken: set[int] = set()
    for stream in sorted(able, key=lambda one: (len(able[one]), one)):
        free = [one for one in able[stream] if one not in taken] or able[stream]
        chosen = _before(launches, process, events.event[streams[stream]], free)
        owner[streams[stream]] = chosen
        taken.add(chosen)
    return owner


def _before(launches: Launches, process: I32, event: I32, among: list[int]) -> int:
    """Return the process that made most of the last calls before each activity in the file."""
    if len(among) == 1:
        return among[0]
    at = np.argsort(launches.event, kind="stable")
    last = np.searchsorted(launches.event[at], event) - 1
    nearest = process[at[np.maximum(last, 0)]]
    return max(among, key=lambda one: int((nearest == one).sum()))


def _explained(launches: Launches, own: Bools, events: Group, rows: I64) -> int:
    """Return how many activities have a call of these that began before them."""
    calls = np.flatnonzero(own)
    wanted = events.id("correlation")[rows]
    found = rows_of(launches.correlation[calls], np.where(wanted > 0, wanted, -1))
    made = launches.start_ns[calls[np.maximum(found, 0)]]
    return int(((found >= 0) & (made <= events.start_ns[rows])).sum())
