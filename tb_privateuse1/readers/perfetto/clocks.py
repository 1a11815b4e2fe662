"""Convert timestamps of several clocks to the trace's clock, by its snapshots.

A snapshot has the times of several clocks at one moment. A timestamp counts from the last snapshot
before it. Clocks 64 to 127 belong to a sequence. Those that are incremental have differences
instead of times. Source: ``ClockSnapshot``, and docs/concepts/clock-sync.md of Perfetto.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from tb_privateuse1.readers.perfetto import schema
from tb_privateuse1.readers.perfetto.state import Packets
from tb_privateuse1.readers.perfetto.stream import Batch
from tb_privateuse1.readers.perfetto.wire import scan
from tb_privateuse1.trace.columns import latest_not_after
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.perfetto_words import BOOTTIME, REALTIME
from tb_privateuse1.trace.table import I32, I64

_OF_SEQUENCE = range(64, 128)
_SEQUENCE_BIT = 1 << 60
_LIMIT_NS = 1 << 61
_PRIMARY = -1
_MOST_SNAPSHOTS = 100_000


class Clocks:
    """The clocks of a file while it is read."""

    def __init__(self) -> None:
        self.primary = BOOTTIME
        self._snapshots: list[dict[int, int]] = []
        self._last: dict[int, int] = {}
        """The last time of incremental clocks, ns."""
        self._unit: dict[int, int] = {}

    def add(self, batch: Batch, packets: Packets) -> tuple[I64, I64]:
        """Return the clock of each packet as a key, and its time on this clock in ns."""
        key = _keys(packets.clock, packets.sequence)
        times = batch.fields.numbers(schema.TIMESTAMP, 0)
        changes = self._read_snapshots(batch, packets)
        special = [
            own
            for own in np.unique(key).tolist()
            if own in self._unit or own in {clock for _, snapshot in changes for clock in snapshot}
        ]
        result = times.copy()
        for own in special:
            self._convert(own, np.flatnonzero(key == own), times, result, changes)
        for _, snapshot in changes:
            for own, (_, unit, incremental) in snapshot.items():
                self._unit[own] = unit if not incremental else -unit
        return key, result

    def _convert(
        self,
        own: int,
        rows: I64,
        times: I64,
        result: I64,
        changes: list[tuple[int, dict[int, tuple[int, int, bool]]]],
    ) -> None:
        """Convert the times of one clock, whose unit and kind a snapshot may change."""
        signed = self._unit.get(own, 1)
        first = 0
        for row, snapshot in [*changes, (len(times), {})]:
            stop = int(np.searchsorted(rows, row))
            part = rows[first:stop]
            if len(part):
                unit = np.int64(abs(signed))
                scaled = np.clip(times[part], 0, _LIMIT_NS // abs(signed)) * unit
                if signed < 0:
                    total = np.cumsum(np.minimum(scaled, _LIMIT_NS // max(len(part), 1)))
                    scaled = self._last.get(own, 0) + total
                    self._last[own] = min(int(scaled[-1]), _LIMIT_NS)
                result[part] = scaled
            first = stop
            if own in snapshot:
                time, unit_ns, incremental = snapshot[own]
                signed = -unit_ns if incremental else unit_ns
                self._last[own] = time

    def _read_snapshots(
        self, batch: Batch, packets: Packets
    ) -> list[tuple[int, dict[int, tuple[int, int, bool]]]]:
        """Return per packet with a snapshot: time in ns, unit and kind of the sequence's clocks."""
        owner, spans = batch.fields.spans(schema.CLOCK_SNAPSHOT)
        found: list[tuple[int, dict[int, tuple[int, int, bool]]]] = []
        for row, start, stop in zip(
            owner.tolist(), spans.start.tolist(), spans.stop.tolist(), strict=True
        ):
            one = type(spans)(np.array([start]), np.array([stop]))
            fields = scan(batch.buffer, one)
            self.primary = int(fields.numbers(2, self.primary)[0])
            clock = scan(batch.buffer, fields.spans(1)[1])
            ids = clock.numbers(1, NONE)
            keys = _keys(ids, np.full(len(ids), packets.sequence[row]))
            units = np.clip(clock.numbers(4, 1), 1, 1 << 40)
            times = np.clip(clock.numbers(2, 0), 0, _LIMIT_NS // units) * units
            kinds = clock.numbers(3, 0) != 0
            values = zip(keys.tolist(), times.tolist(), units.tolist(), kinds.tolist(), strict=True)
            snapshot = {own: (time, unit, kind) for own, time, unit, kind in values}
            if len(self._snapshots) < _MOST_SNAPSHOTS:
                self._snapshots.append({own: value[0] for own, value in snapshot.items()})
            own = {k: v for k, v in snapshot.items() if k & _SEQUENCE_BIT}
            if own:
                found.append((row, own))
        return found

    def base_ns(self) -> int:
        """Return the Unix time of the trace clock's 0; 0 if it is not known."""
        offsets = self._offsets().get(REALTIME)
        return -offsets[0][1] if offsets and self.primary != REALTIME else 0

    def to_trace(self, clock: I32, keys: Iterable[int], time: I64) -> I64:
        """Return times on the trace's clock; ``clock`` are indices of ``keys``.

        A clock that no snapshot connects with the trace's counts as the trace's.
        """
        result = time
        offsets = self._offsets()
        for code, key in enumerate(keys):
            if key in (_PRIMARY, self.primary) or key not in offsets:
                continue
            at, by = (np.array(column, np.int64) for column in zip(*offsets[key], strict=True))
            if len(at) == 1 and by[0] == 0:
                continue
            rows = np.flatnonzero(clock == code)
            if len(rows):
                result = result.copy() if result is time else result
                place = np.maximum(latest_not_after(at, time[rows]), 0)
                result[rows] = time[rows] + by[place]
        return result

    def _offsets(self) -> dict[int, list[tuple[int, int]]]:
        """Return for each clock the times of its snapshots, and what is to be added from there.

        A snapshot without the trace's clock counts with a clock whose offset is known.
        """
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for snapshot in self._snapshots:
            anchor = snapshot.get(self.primary)
            if anchor is None:
                known = next((key for key in snapshot if key in found), None)
                if known is not None:
                    anchor = snapshot[known] + found[known][-1][1]
            if anchor is not None:
                for key, time in snapshot.items():
                    if key != self.primary:
                        found[key].append((time, anchor - time))
        return {key: sorted(values) for key, values in found.items()}


def _keys(clock: I64, sequence: I64) -> I64:
    """Return clocks as keys: those of a sequence with its number, ``NONE`` for the trace's."""
    own = (clock >= _OF_SEQUENCE.start) & (clock < _OF_SEQUENCE.stop)
    return np.where(own, _SEQUENCE_BIT | (sequence << 8) | clock, clock)
