"""Read a whole trace of Perfetto as raw columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_privateuse1.i18n import say
from tb_privateuse1.readers.chrome.growing_columns import Columns
from tb_privateuse1.readers.chrome.interning import Strings
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.readers.perfetto import schema
from tb_privateuse1.readers.perfetto.clocks import Clocks
from tb_privateuse1.readers.perfetto.device import Device
from tb_privateuse1.readers.perfetto.joins import Joins
from tb_privateuse1.readers.perfetto.slices import Slices
from tb_privateuse1.readers.perfetto.state import Codes, State
from tb_privateuse1.readers.perfetto.stream import Batch, Stream
from tb_privateuse1.readers.perfetto.tracks import Tracks
from tb_privateuse1.readers.perfetto.wire import scan
from tb_privateuse1.readers.raw import Progress, Raw
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.file_checkpoints import Checkpoints

_KNOWN = (
    schema.TRACK_EVENT, schema.TRACK, schema.GPU_STAGE, schema.GPU_COUNTERS, schema.CLOCK_SNAPSHOT,
    schema.INTERNED, schema.PROCESS, schema.THREAD, schema.DEFAULTS, schema.GPU_INFO,
)  # fmt: skip
_STATE = (schema.INTERNED, schema.TRACK, schema.PROCESS, schema.THREAD)


class Reading:
    """One reading of a file."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.state = State(Strings())
        self.tracks = Tracks(self.state.strings)
        self.clocks = Clocks()
        self.keys = Codes()
        self.slices = Slices(self.state, self.tracks, self.tally)
        self.device = Device(self.state, self.tracks, self.tally)
        self.packets = 0
        self.known = 0
        self.gpus: list[str] = []
        self._trail = Columns(offset=np.int64, event=np.int64, named=np.int64)

    def add(self, batch: Batch) -> None:
        """Add the packets of a batch."""
        first, fields = self.packets, batch.fields
        named = any(len(fields.rows(number, 2)) for number in _STATE)
        self._trail.add(
            offset=np.array([batch.offset]), event=np.array([first]), named=np.array([named])
        )
        packets = self.state.add(batch)
        self.tracks.add(batch, packets)
        key, ts = self.clocks.add(batch, packets)
        clock = self.keys.of(key)
        self.slices.add(batch, packets, clock, ts, first)
        self.device.add(batch, packets, clock, ts, first)
        self.device.add_counters(batch, clock, ts, first)
        self._add_gpus(batch)
        for number, name in schema.NOT_SHOWN.items():
            self.tally.add("phase_not_shown", len(fields.rows(number, 2)), name)
        self.known += sum(len(fields.rows(number, 2)) for number in (*_KNOWN, *schema.NOT_SHOWN))
        self.packets += len(batch)

    def _add_gpus(self, batch: Batch) -> None:
        row, spans = batch.fields.spans(schema.GPU_INFO)
        if len(row):
            _, gpus = scan(batch.buffer, spans).spans(1)
            fields = scan(batch.buffer, gpus)
            names = [""] * len(gpus)
            row, texts = fields.spans(1)
            for at, text in zip(row.tolist(), batch.buffer.texts(texts), strict=True):
                names[at] = text.decode("utf-8", "replace")
            self.gpus += names

    def raw(self) -> Raw:
        """Return all columns; times count from the trace clock's 0."""
        joins = Joins(self.tracks, self.clocks, self.keys, self.slices, self.device, self.state)
        joins.name_backward()
        groups, memory = joins.groups()
        flows, counters = joins.flows(), joins.counters(self.tally)
        threads = self.tracks.threads()
        metadata: dict[str, Any] = {}
        if self.gpus:
            metadata["deviceProperties"] = [
                {"id": i, "name": name} for i, name in enumerate(self.gpus)
            ]
        return Raw(
            base_ns=self.clocks.base_ns(),
            strings=tuple(self.state.strings),
            threads=threads,
            groups=groups,
            memory=memory,
            flows=flows,
            metadata=metadata,
            findings=self.tally.findings(),
            checkpoints=self._checkpoints(),
            counters=counters,
            process_names=self.tracks.process_names,
        )

    def _checkpoints(self) -> Checkpoints:
        offset, event = self._trail["offset"], self._trail["event"]
        none = np.zeros(len(offset), np.int64)
        return Checkpoints(
            offset.copy(), event.copy(), none, none.copy(), self._trail["named"].copy(),
            none.astype(np.bool_),
        )  # fmt: skip


def read(path: str, progress: Progress | None = None) -> Raw:
    """Return the columns of a trace; ``findings`` list its problems.

    Raises TraceError ``unreadable``, ``too_large`` or ``not_a_trace``.
    """
    reading = Reading()
    source = Source(path, progress)
    for batch in Stream(source.blocks(), reading.tally).batches():
        reading.add(batch)
        source.events = reading.packets
    if source.fault == "damaged":
        reading.tally.add("gzip_damaged")
    elif source.fault:
        reading.tally.add("truncated")
    if not reading.known:
        message = say("{path} is no trace of Perfetto, or has no whole packet.", path=path)
        raise TraceError("not_a_trace", message, say("Was it copied whole? Copy it again."))
    if progress:
        progress("reading", source.size, source.size, reading.packets)
    return reading.raw()
