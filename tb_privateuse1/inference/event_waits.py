"""Build the waits for device events that a profiler recorded: who waits for which stream."""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.inference.stage_inputs import rows_of
from tb_privateuse1.readers.raw import MISSING_OF, Group, Raw
from tb_privateuse1.trace.columns import flag_names
from tb_privateuse1.trace.event_waits import EventWaits
from tb_privateuse1.trace.model import NONE, Lanes, Launches
from tb_privateuse1.trace.table import I32, I64

_CATEGORY = re.compile(r"_sync$", re.IGNORECASE)
"""Categories of Kineto's synchronization events."""


def build_event_waits(raw: Raw, lanes: Lanes, launches: Launches) -> EventWaits:
    """Return the waits whose call is recorded and whose stream has activities.

    A wait of the host for a stream names that stream, one for an event the stream on which it was
    recorded. An event that was recorded before the profiler started has no such stream. One for
    the whole device names none, and is left out: its call says so.
    """
    found = [group for category, group in raw.groups.items() if _CATEGORY.search(category)]
    events = Group.join(found, MISSING_OF)
    awaited, own = events.id("awaited_stream"), events.id("stream")
    by_event = flag_names(raw.strings, lambda text: "event" in text.lower())
    of_stream = (awaited < 0) & ~by_event[events.name]
    device = events.id("device")
    lane = np.where(of_stream, NONE, _lanes(lanes, device, own))
    waits = EventWaits(
        launch=rows_of(launches.correlation, events.id("correlation")),
        lane=lane.astype(np.int32),
        record=rows_of(launches.correlation, events.id("record_correlation")),
        awaited_lane=_lanes(lanes, device, np.where(of_stream, own, awaited)),
    )
    # A stream without activities has nothing to wait with.
    unknown = ~of_stream & (own >= 0) & (lane == NONE)
    rows = np.flatnonzero((waits.launch >= 0) & (waits.awaited_lane >= 0) & ~unknown)
    return waits.take(rows[np.argsort(waits.launch[rows], kind="stable")])


def _lanes(lanes: Lanes, device: I64, stream: I64) -> I32:
    """Return the lane of each stream, ``NONE`` without one."""
    same = (device[:, None] == lanes.device) & (stream[:, None] == lanes.stream)
    return np.where(same.any(axis=1), same.argmax(axis=1), NONE).astype(np.int32)
