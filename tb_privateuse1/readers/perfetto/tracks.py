"""The tracks of a trace, their processes and threads, and the counters among them."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from msgspec import Struct, field

from tb_privateuse1.readers.chrome.interning import Strings
from tb_privateuse1.readers.perfetto import schema
from tb_privateuse1.readers.perfetto.state import Codes, Packets
from tb_privateuse1.readers.perfetto.stream import Batch
from tb_privateuse1.readers.perfetto.wire import Buffer, Fields, scan
from tb_privateuse1.trace.model import NONE, Threads
from tb_privateuse1.trace.recorded_counters import COMPUTED
from tb_privateuse1.trace.table import I32, I64

Number = TypeVar("Number", int, I64)

_MOST_PARENTS = 32
_OF_SEQUENCES = -(1 << 62)
_NAMES = (2, 10, 13)
"""Fields with a track's name."""


class Track(Struct):
    """One track: where it belongs, as far as its descriptors say."""

    parent: int = 0
    name: str = ""
    pid: int | None = None
    tid: int | None = None
    is_counter: bool = False
    computed: bool = False
    """A counter that our export computed."""
    multiplier: int = 1
    incremental: bool = False


class Tracks(Struct):
    """All tracks by uuid, and names of processes."""

    strings: Strings
    by_uuid: dict[int, Track] = field(default_factory=dict)
    codes: Codes = field(default_factory=Codes)
    process_names: dict[str, str] = field(default_factory=dict)
    _rows: dict[tuple[str, str], int] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    _used: dict[tuple[str, str], int] = field(default_factory=dict)
    _thread_names: dict[tuple[int, int], str] = field(default_factory=dict)

    def add(self, batch: Batch, packets: Packets) -> None:
        """Add the descriptors of a batch; later ones add to those before."""
        owner, spans = batch.fields.spans(schema.TRACK)
        if len(owner):
            self._add_tracks(batch.buffer, scan(batch.buffer, spans))
        for number, is_thread in ((schema.PROCESS, False), (schema.THREAD, True)):
            row, spans = batch.fields.spans(number)
            if len(row):
                self._add_old(batch.buffer, scan(batch.buffer, spans), packets, row, is_thread)

    def _add_tracks(self, buffer: Buffer, fields: Fields) -> None:
        uuids, parents = fields.numbers(1, 0).tolist(), fields.numbers(5, 0).tolist()
        tracks = [self.by_uuid.setdefault(uuid, Track()) for uuid in uuids]
        for track, parent in zip(tracks, parents, strict=True):
            track.parent = parent or track.parent
        for number in _NAMES:
            row, spans = fields.spans(number)
            for at, text in zip(row.tolist(), buffer.texts(spans), strict=True):
                tracks[at].name = text.decode("utf-8", "replace")
        row, spans = fields.spans(3)
        inner = scan(buffer, spans)
        for at, pid in zip(row.tolist(), inner.numbers(1, 0).tolist(), strict=True):
            tracks[at].pid = pid
        self._name_processes(buffer, inner)
        row, spans = fields.spans(4)
        inner = scan(buffer, spans)
        ids = zip(inner.numbers(1, 0).tolist(), inner.numbers(2, 0).tolist(), strict=True)
        for at, (pid, tid) in zip(row.tolist(), ids, strict=True):
            tracks[at].pid, tracks[at].tid = pid, tid
        self._name_threads(buffer, inner)
        row, spans = fields.spans(8)
        inner = scan(buffer, spans)
        factors, deltas = inner.numbers(4, 1).tolist(), inner.numbers(5, 0).tolist()
        for at, factor, delta in zip(row.tolist(), factors, deltas, strict=True):
            track = tracks[at]
            track.is_counter, track.multiplier, track.incremental = True, factor, bool(delta)
        of, spans = inner.spans(2)
        for at, text in zip(row[of].tolist(), buffer.texts(spans), strict=True):
            tracks[at].computed |= text == COMPUTED.encode()

    def _add_old(
        self, buffer: Buffer, fields: Fields, packets: Packets, row: object, is_thread: bool
    ) -> None:
        """Add descriptors of older traces; a thread's is the default track of its sequence."""
        if not is_thread:
            self._name_processes(buffer, fields)
            return
        self._name_threads(buffer, fields)
        own = packets.sequence[np.asarray(row)].tolist()
        ids = zip(fields.numbers(1, 0).tolist(), fields.numbers(2, 0).tolist(), strict=True)
        for sequence, (pid, tid) in zip(own, ids, strict=True):
            self.by_uuid[sequence_track(sequence)] = Track(pid=pid, tid=tid)

    def _name_processes(self, buffer: Buffer, fields: Fields) -> None:
        pids = fields.numbers(1, 0)
        row, spans = fields.spans(6)
        for pid, text in zip(pids[row].tolist(), buffer.texts(spans), strict=True):
            if text:
                self.process_names[str(pid)] = text.decode("utf-8", "replace")

    def _name_threads(self, buffer: Buffer, fields: Fields) -> None:
        pids, tids = fields.numbers(1, 0), fields.numbers(2, 0)
        row, spans = fields.spans(5)
        for pid, tid, text in zip(
            pids[row].tolist(), tids[row].tolist(), buffer.texts(spans), strict=True
        ):
            if text:
                self._thread_names[pid, tid] = text.decode("utf-8", "replace")

    def chain(self, uuid: int) -> tuple[Track, int | None, int | None]:
        """Return a track with the process and the thread that it belongs to, by its parents."""
        track = own = self.by_uuid.get(uuid, Track())
        for _ in range(_MOST_PARENTS):
            if own.pid is not None or not own.parent:
                break
            own = self.by_uuid.get(own.parent, Track())
        return track, own.pid, own.tid

    def thread_of_tracks(self) -> I32:
        """Return the row of the thread of each track, by its code.

        A track below a thread is of that thread: its ranges overlap others. Others are rows of
        their own.
        """
        return np.array([self._row(uuid) for uuid in self.codes.values], np.int32)

    def _row(self, uuid: int) -> int:
        track, pid, tid = self.chain(uuid)
        process = "" if pid is None else str(pid)
        if tid is not None and pid is not None:
            return self.place(process, str(tid), self._thread_names.get((pid, tid), ""))
        number = _OF_SEQUENCES - uuid if uuid <= _OF_SEQUENCES else uuid & (1 << 64) - 1
        name = track.name or f"Track {number}"
        used = self._used[process, name] = self._used.get((process, name), 0) + 1
        return self.place(process, name if used == 1 else f"{name} {used}", name)

    def place(self, pid: str, tid: str, name: str) -> int:
        """Return the row of a thread, which is added if it is new."""
        row = self._rows.setdefault((pid, tid), len(self._rows))
        if row == len(self._names):
            self._names.append(name)
        return row

    def threads(self) -> Threads:
        """Return the table of threads."""
        index = self.strings.__getitem__
        keys = list(self._rows)
        columns = (
            [index(pid) for pid, _ in keys],
            [index(tid) for _, tid in keys],
            [index(name) if name else NONE for name in self._names],
        )
        return Threads(*(np.array(column, np.int32) for column in columns))


def sequence_track(sequence: Number) -> Number:
    """Return the key of the track of a sequence's thread, which has no uuid; also by columns."""
    return _OF_SEQUENCES - sequence
