"""Record when the device comes to the end of each step, on each stream.

An event is recorded on every stream when a step ends. How long before an event on the idle device
it was executed is known afterwards, and when the idle device executes an event is known by the
host's clock. So each marker has a device time on that clock, whatever the backlog was. It costs the
device one event per stream and step, and no wait.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import torch

from tb_privateuse1.capture.warnings import Notes

_ANCHORS, _CALM = 7, 4
"""Events on the idle device before and behind the recording, and how many count: those whose
records took the host least, as a preempted thread tells no time."""
_RESOLUTION_NS = 1_000
_MOST_NS = 20_000
"""A clock that fits worse than this tells nothing."""
_MOST_STREAMS = 16


@dataclass(frozen=True)
class _Record:
    """An event and the host's time of its record: the middle of a call that took ``call_ns``."""

    event: Any
    host_ns: int
    call_ns: int
    device: int
    stream: int


@dataclass
class StepMarkers:
    """The markers of one cycle: columns of equal length, or None if they could not be recorded."""

    backend: str
    columns: dict[str, list[int]] | None = None
    _before: list[_Record] = field(default_factory=list)
    _markers: list[_Record] = field(default_factory=list)
    _stream: Any = None
    """The one on which the clock is read; another device has another clock."""

    def start(self, notes: Notes) -> None:
        """Forget the last cycle, and read the clock; the device is idle."""
        self.columns, self._markers, self._before = None, [], []
        try:
            self._stream = self._streams()[0]
            self._before = self._read_clock()
        except Exception as error:
            self._failed(notes, error)

    def mark(self, notes: Notes) -> None:
        """Record a marker on each stream: a step ends."""
        if not self._before:
            return
        try:
            device = self._stream.device_index
            streams = [one for one in self._streams() if one.device_index == device]
            self._markers += [self._record(stream) for stream in streams]
        except Exception as error:
            self._failed(notes, error)

    def stop(self, notes: Notes) -> None:
        """Take over when the device came to the markers; it is idle."""
        if not self._before:
            return
        try:
            self.columns = _columns(self._before, self._read_clock(), self._markers)
        except Exception as error:
            self._failed(notes, error)
        self._before, self._markers = [], []

    def _read_clock(self) -> list[_Record]:
        """Return records of events that the idle device executes at once."""
        self._record(self._stream).event.synchronize()  # the stream is idle from here on
        found = []
        for _ in range(_ANCHORS):
            found.append(self._record(self._stream))
            found[-1].event.synchronize()
        return sorted(found, key=lambda one: one.call_ns)[:_CALM]

    def _streams(self) -> list[Any]:
        """Return the backend's ``marker_streams()``; the current stream if it has none."""
        module: Any = getattr(torch, self.backend, None)
        streams = getattr(module, "marker_streams", None)
        if streams is not None:
            return list(streams())[:_MOST_STREAMS]
        source: Any = getattr(torch, "accelerator", None) or module
        return [source.current_stream()]

    def _record(self, stream: Any) -> _Record:
        event = self._event()
        before = time.time_ns()
        event.record(stream)
        after = time.time_ns()
        middle, call = (before + after) // 2, after - before
        return _Record(event, middle, call, int(stream.device_index), int(stream.stream_id))

    def _event(self) -> Any:
        try:
            return torch.Event(device=self.backend, enable_timing=True)
        except Exception:  # an older torch, or a guard that makes no events
            return getattr(torch, self.backend).Event(enable_timing=True)

    def _failed(self, notes: Notes, error: Exception) -> None:
        self._before, self._markers = [], []
        notes.add(
            "markers-failed",
            "the ends of steps could not be marked on the device, a backlog will be less well "
            f"known: {type(error).__name__}: {error}",
        )


def _columns(
    before: list[_Record], behind: list[_Record], markers: list[_Record]
) -> dict[str, list[int]] | None:
    """Return the columns of the sidecar; None without markers, or if the clocks do not fit.

    The device's clock is read twice, so that what it drifts against the host's is known, too.
    """
    first = before[0].event

    def on_device(one: _Record) -> int:
        return 0 if one.event is first else round(first.elapsed_time(one.event) * 1e6)

    reads = [[(on_device(one), one.host_ns) for one in side] for side in (before, behind)]
    start, end = (statistics.median(at for at, _ in side) for side in reads)
    offset, last = (statistics.median(host - at for at, host in side) for side in reads)
    drift = (last - offset) / max(end - start, 1)

    def on_host(at: float) -> int:
        return round(at + offset + (at - start) * drift)

    bound = max(abs(host - on_host(at)) for side in reads for at, host in side) + _RESOLUTION_NS
    if not markers or bound > _MOST_NS:
        return None
    return {
        "host_ns": [one.host_ns for one in markers],
        "device": [one.device for one in markers],
        "stream": [one.stream for one in markers],
        "done_ns": [on_host(on_device(one)) for one in markers],
        "bound_ns": [bound] * len(markers),
    }
