"""Read the work of devices: stages (``GpuRenderStageEvent``) and counters (``GpuCounterEvent``)."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.readers.chrome import numbers
from tb_privateuse1.readers.chrome.growing_columns import Columns
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.perfetto import schema
from tb_privateuse1.readers.perfetto.state import Packets, State, text_column
from tb_privateuse1.readers.perfetto.stream import Batch
from tb_privateuse1.readers.perfetto.tracks import Tracks
from tb_privateuse1.readers.perfetto.wire import FIXED64, Buffer, Fields, Spans, scan
from tb_privateuse1.readers.raw import MISSING_OF, Group
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.perfetto_words import OTHER
from tb_privateuse1.trace.table import I32, I64

_EXTRA = ("bytes", "start_bound_ns", "shift_bound_ns", "duration_bound_ns", "evidence")
"""Arguments of a device's work that have a column."""
_NUMBER = re.compile(r"(\d{1,9})\D*$")
_COPY = re.compile(
    r"mem(?:ory)? ?c(?:o?)py|\bcopy\b|\bdma\b|upload|download|transfer", re.IGNORECASE
)
_FILL = re.compile(r"memset|\bfill\b|\bclear\b", re.IGNORECASE)
_MERGED = "device_kernel"
"""The category of inferred work."""


class Device:
    """The stages of a file's devices while it is read."""

    def __init__(self, state: State, tracks: Tracks, tally: Tally) -> None:
        self._state, self._tracks, self._tally = state, tracks, tally
        self.stages = Columns(
            clock=np.int32, ts=np.int64, length=np.int64, stage=np.int32, queue=np.int32,
            gpu=np.int64, name=np.int32, id=np.int64, event=np.int32,
        )  # fmt: skip
        self.counted = Columns(
            series=np.int32, clock=np.int32, ts=np.int64, value=np.float64, event=np.int32
        )
        self.series: dict[tuple[int, int], int] = {}
        """The number of a counter, by device and id."""
        self.counter_names: dict[int, str] = {}
        self._extra: dict[str, list[tuple[I64, NDArray[Any]]]] = defaultdict(list)
        self._old: dict[tuple[int, int], list[int]] = {}

    def add(self, batch: Batch, packets: Packets, clock: I32, ts: I64, first: int) -> None:
        """Add the stages of a batch, whose first packet has the number ``first``."""
        owner, spans = batch.fields.spans(schema.GPU_STAGE)
        if not len(owner):
            return
        fields = scan(batch.buffer, spans)
        generation = packets.generation[owner]
        stage = self._state.stages.find(generation, fields.numbers(14, 0))
        queue = self._state.stages.find(generation, fields.numbers(13, 0))
        self._old_form(batch, fields, packets.sequence[owner], stage, queue)
        name = self._state.names.find(generation, fields.numbers(20, 0))
        row, texts = fields.spans(17)
        name[row] = text_column(batch.buffer, texts, self._state.index)
        timed = batch.fields.has(schema.TIMESTAMP)[owner]
        usable = packets.usable[owner]
        self._tally.add("names_lost", int((~usable).sum()))
        self._tally.add("malformed_events", int(fields.broken.sum()), "GpuRenderStageEvent")
        self._tally.add("events_without_time", int((usable & ~timed).sum()))
        length = fields.numbers(2, 0)
        self._tally.add("negative_durations", int((length < 0).sum()))
        rows = np.flatnonzero(usable & timed & ~fields.broken)
        number = np.full(len(owner), NONE, np.int64)
        number[rows] = self.stages.rows + np.arange(len(rows))
        self._add_extra(batch.buffer, fields, number)
        self.stages.add(
            clock=clock[owner[rows]], ts=ts[owner[rows]], length=np.maximum(length, 0)[rows],
            stage=stage[rows], queue=queue[rows], gpu=fields.numbers(11, NONE)[rows],
            name=name[rows], id=fields.numbers(1, NONE)[rows],
            event=(first + owner[rows]).astype(np.int32),
        )  # fmt: skip

    def _old_form(
        self, batch: Batch, fields: Fields, sequence: I64, stage: I32, queue: I32
    ) -> None:
        """Fill stages and queues that are places in lists, as older traces have them."""
        row, spans = fields.spans(7)
        if len(row):
            lists = scan(batch.buffer, spans)
            for kind in (2, 3):
                of, places = lists.spans(kind)
                entry = scan(batch.buffer, places)
                described = self._state.add_described(batch.buffer, entry)
                for own in np.unique(sequence[row[of]]).tolist():
                    mine = np.flatnonzero(sequence[row[of]] == own)
                    self._old[own, kind] = [described[i] for i in mine.tolist()]
        for column, field, kind in ((queue, 3, 2), (stage, 4, 3)):
            rows = np.flatnonzero((column < 0) & fields.has(field))
            places_of = fields.numbers(field, NONE)
            for at in rows.tolist() if self._old else ():
                known = self._old.get((int(sequence[at]), kind), [])
                place = int(places_of[at])
                if 0 <= place < len(known):
                    column[at] = known[place]

    def _add_extra(self, buffer: Buffer, fields: Fields, number: I64) -> None:
        row, spans = fields.spans(6)
        kept = number[row] >= 0
        if not kept.any():
            return
        entry = scan(buffer, spans.take(kept))
        owner = number[row[kept]]
        at, keys = entry.spans(1)
        key = np.full(len(owner), NONE, np.int32)
        key[at] = text_column(buffer, keys, self._state.index)
        at, values = entry.spans(2)
        for name in _EXTRA:
            mine = key[at] == self._state.strings[name]
            if mine.any():
                self._extra[name].append((owner[at[mine]], self._value(name, buffer, values, mine)))

    def _value(
        self, name: str, buffer: Buffer, values: Spans, mine: NDArray[np.bool_]
    ) -> NDArray[Any]:
        own = values.take(mine)
        if name not in MISSING_OF:
            return text_column(buffer, own, self._state.index)
        return numbers.parse_ids([t.decode("latin-1") for t in buffer.texts(own)], MISSING_OF[name])

    def add_counters(self, batch: Batch, clock: I32, ts: I64, first: int) -> None:
        """Add samples of the devices' counters."""
        owner, spans = batch.fields.spans(schema.GPU_COUNTERS)
        if not len(owner):
            return
        fields = scan(batch.buffer, spans)
        row, places = fields.spans(1)
        _, specs = scan(batch.buffer, places).spans(1)
        entry = scan(batch.buffer, specs)
        at, names = entry.spans(2)
        ids = entry.numbers(1, 0)
        for id, text in zip(ids[at].tolist(), batch.buffer.texts(names), strict=True):
            self.counter_names[id] = text.decode("utf-8", "replace")
        row, places = fields.spans(2)
        sample = scan(batch.buffer, places)
        value = sample.numbers(2, 0).astype(np.float64)
        doubles = sample.has(3, FIXED64)
        value[doubles] = sample.numbers(3, 0, FIXED64)[doubles].view(np.float64)
        keys = zip(fields.numbers(3, 0)[row].tolist(), sample.numbers(1, 0).tolist(), strict=True)
        series = [self.series.setdefault(key, len(self.series)) for key in keys]
        finite = np.isfinite(value)
        self._tally.add("counters_no_number", int((~finite).sum()))
        packet = owner[row][finite]
        self.counted.add(
            series=np.array(series, np.int32)[finite], clock=clock[packet], ts=ts[packet],
            value=value[finite], event=(first + packet).astype(np.int32),
        )  # fmt: skip

    def groups(self, start_ns: I64, correlation: I64, external: I64) -> dict[str, Group]:
        """Return the stages by category, with the numbers of their calls and operators."""
        stages = self.stages
        if not stages.rows:
            return {}
        extra = {name: self._column(name) for name in self._extra}
        gpu = np.where(stages["gpu"] >= 0, stages["gpu"], 0)
        thread, stream = self._lanes(stages["queue"], gpu)
        nothing = self._state.index(b"")
        names = np.array([*self._state.stage_name, nothing], np.int32)
        kinds = np.array([*self._state.stage_category, OTHER], np.int64)
        name = np.where(stages["name"] >= 0, stages["name"], names[stages["stage"]])
        whole = Group(
            name=name.astype(np.int32),
            start_ns=start_ns,
            end_ns=start_ns + stages["length"],
            thread=thread,
            event=stages["event"].copy(),
            ids={
                "device": gpu, "stream": stream, "correlation": correlation,
                "external_id": external,
                **{k: v for k, v in extra.items() if k in MISSING_OF},
            },
            texts={k: v for k, v in extra.items() if k not in MISSING_OF},
        )  # fmt: skip
        kind = self._kinds(name, kinds[stages["stage"]], whole)
        return {c: whole.take(kind == i) for i, c in enumerate(_KINDS) if (kind == i).any()}

    def _kinds(self, name: NDArray[Any], category: I64, whole: Group) -> I64:
        """Return an index into ``_KINDS``: copies and fills are named so and do not compute."""
        used, code = np.unique(name, return_inverse=True)
        by_name = [self._kind(self._state.text(i)) for i in used.tolist()]
        kind = np.where(category == OTHER, np.array(by_name, np.int64)[code], 0)
        return np.where(whole.text("evidence") >= 0, _KINDS.index(_MERGED), kind)

    @staticmethod
    def _kind(name: str) -> int:
        if _COPY.search(name):
            return _KINDS.index("gpu_memcpy")
        return _KINDS.index("gpu_memset") if _FILL.search(name) else 0

    def _column(self, name: str) -> NDArray[Any]:
        is_number = name in MISSING_OF
        dtype = np.int64 if is_number else np.int32
        found = np.full(self.stages.rows, MISSING_OF.get(name, NONE), dtype)
        for row, values in self._extra[name]:
            found[row] = values
        return found

    def _lanes(self, queue: I32, gpu: I64) -> tuple[I32, I64]:
        """Return the thread and the stream of each stage: queues that are numbered are streams."""
        string = np.array([*self._state.stage_name, self._state.index(b"")], np.int64)[queue]
        pairs, code = np.unique(np.stack((gpu, string)), axis=1, return_inverse=True)
        names = [self._state.text(number) for number in pairs[1].tolist()]
        found = [_NUMBER.search(name) for name in names]
        streams = [int(match[1]) if match else NONE for match in found]
        keys = list(zip(pairs[0].tolist(), streams, strict=True))
        if NONE in streams or len(set(keys)) < len(keys):
            streams = list(range(len(keys)))
        rows = []
        for device, stream, name in zip(pairs[0].tolist(), streams, names, strict=True):
            rows.append(self._tracks.place(f"GPU {device}", str(stream), name))
            self._tracks.process_names.setdefault(f"GPU {device}", f"GPU {device}")
        code = code.reshape(-1)
        return np.array(rows, np.int32)[code], np.array(streams, np.int64)[code]


_KINDS = ("kernel", "gpu_memcpy", "gpu_memset", _MERGED)
