"""Join tracks, slices and stages to columns once a file is read: times, threads and links."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1 import vendors
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.perfetto import schema
from tb_privateuse1.readers.perfetto.clocks import Clocks
from tb_privateuse1.readers.perfetto.device import Device
from tb_privateuse1.readers.perfetto.slices import Slices
from tb_privateuse1.readers.perfetto.state import Codes, State
from tb_privateuse1.readers.perfetto.tracks import Track, Tracks
from tb_privateuse1.readers.raw import MISSING_OF, Counters, Flows, Group
from tb_privateuse1.trace.columns import starts_run
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.recorded_counters import CounterSamples, CounterSeries
from tb_privateuse1.trace.table import F64, I32, I64

_MEMORY_NAME, _MEMORY_CATEGORY = "[memory]", "cpu_instant_event"
_OPERATORS = frozenset({"cpu_op", "operator"})
_TORCH = re.compile(
    r"^(?:cpu_op|operator|user_annotation|python_function|kernel|gpu_\w+|\w*_?(?:runtime|driver))$",
    re.IGNORECASE,
)
"""Categories of torch's traces: others have no meaning beside them."""
_MOST_CATEGORIES, _OTHERS = 1000, "(others)"
_MOST_SERIES = 1000
_MADE_UP = 1 << 61
"""Numbers of links from here on are none of the file."""


class Joins:
    """The whole of a file, joined."""

    def __init__(
        self,
        tracks: Tracks,
        clocks: Clocks,
        keys: Codes,
        slices: Slices,
        device: Device,
        state: State,
    ) -> None:
        self._tracks, self._clocks, self._keys = tracks, clocks, keys
        self._slices, self._device, self._state = slices, device, state
        begun, ends = slices.begun, slices.ends
        self._start = self._times(begun["clock"], begun["ts"])
        self._end = slices.lengths(self._start, self._times(ends["clock"], ends["ts"]))
        self._rows = tracks.thread_of_tracks()
        self._thread = self._rows[begun["track"]] if begun.rows else np.empty(0, np.int32)
        self._columns: dict[str, NDArray[Any]] = {}
        for key in slices.arguments.filled():
            column = slices.arguments.column(key, begun.rows)
            if column is not None:
                self._columns[key] = column

    def _times(self, clock: I32, ts: I64) -> I64:
        return self._clocks.to_trace(clock, self._keys.values, ts)

    def groups(self) -> tuple[dict[str, Group], Group]:
        """Return the ranges by category, and the events of memory."""
        category, names = self._categories()
        correlation, external = self._link(category, names)
        stages = self._device.stages
        start = self._times(stages["clock"], stages["ts"])
        groups = self._device.groups(start, correlation, external)
        memory = category == names.index(_MEMORY_CATEGORY)
        memory |= self._slices.begun["name"] == self._state.strings[_MEMORY_NAME]
        if self._state.of_export:
            category[category == names.index("step")] = NONE  # the annotations have them, too
        for number in np.unique(category).tolist():
            rows = np.flatnonzero((category == number) & ~memory)
            if number >= 0 and len(rows):
                found = self._take(rows)
                name = names[number]
                known = [groups[name]] if name in groups else []
                groups[name] = Group.join([*known, found], MISSING_OF)
        return groups, self._take(np.flatnonzero(memory))

    def _take(self, rows: I64) -> Group:
        begun = self._slices.begun
        taken = {key: column[rows] for key, column in self._columns.items()}
        ids = {k: v for k, v in taken.items() if k in MISSING_OF and (v != MISSING_OF[k]).any()}
        texts = {k: v for k, v in taken.items() if k not in MISSING_OF and (v >= 0).any()}
        return Group(
            name=begun["name"][rows],
            start_ns=self._start[rows],
            end_ns=self._end[rows],
            thread=self._thread[rows],
            event=begun["event"][rows],
            ids=ids,
            texts=texts,
        )

    def _categories(self) -> tuple[I32, list[str]]:
        """Return the category of each slice, and the names of categories.

        In a trace without torch's categories all ranges of the host are annotations.
        """
        column = self._slices.begun["category"]
        used, code = np.unique(column, return_inverse=True)
        texts = [self._state.text(i) if i >= 0 else "" for i in used.tolist()]
        if self._state.of_export:
            texts = [schema.GROUPS.get(text, text) for text in texts]
        elif not any(_TORCH.match(text) for text in texts) and not self._is_of_vendor():
            texts = ["user_annotation" for _ in texts]
        names = [_MEMORY_CATEGORY, "step", *_OPERATORS]
        numbers = []
        for text in texts:
            name = text if text in names or len(names) < _MOST_CATEGORIES else _OTHERS
            names += [name] if name not in names else []
            numbers.append(names.index(name))
        return np.array(numbers, np.int32)[code.reshape(-1)], names

    def _is_of_vendor(self) -> bool:
        """Return whether a process is that of a vendor's device or runtime."""
        processes = [process for vendor in vendors.VENDORS for process in vendor.processes]
        names = self._tracks.process_names.values()
        return any(process.names.search(name) for process in processes for name in names)

    def _link(self, category: I32, names: list[str]) -> tuple[I64, I64]:
        """Return the correlation and the External id of each stage, by the slices that name it.

        A slice without such a number gets one.
        """
        stages = self._device.stages
        correlation = np.full(stages.rows, NONE, np.int64)
        external = correlation.copy()
        row, id = self._slices.links.work()
        if not len(row) or not stages.rows:
            return correlation, external
        order = np.argsort(stages["id"], kind="stable")
        at = np.minimum(np.searchsorted(stages["id"][order], id), stages.rows - 1)
        stage = order[at]
        hit = (stages["id"][stage] == id) & (id >= 0)
        row, stage = row[hit], stage[hit]
        is_operator = np.isin(category[row], [names.index(name) for name in _OPERATORS])
        for key, target, mine in (
            ("correlation", correlation, ~is_operator),
            ("external_id", external, is_operator),
        ):
            if mine.any():
                column = self._columns.get(key)
                if column is None:
                    column = np.full(len(category), NONE, np.int64)
                own = row[mine]
                column[own] = np.where(column[own] >= 0, column[own], _MADE_UP + own)
                self._columns[key] = column
                target[stage[mine]] = column[own]
        return correlation, external

    def flows(self) -> Flows:
        """Return arrows from each slice of a flow to the next one; in our export also as ids.

        There a flow leads from a forward operator to those of its backward pass.
        """
        row, id = self._slices.links.flows()
        if not len(row):
            return Flows.empty()
        order = np.lexsort((self._slices.begun["event"][row], self._start[row], id))
        row, id = row[order], id[order]
        same = id[1:] == id[:-1]
        tail, head = row[:-1][same], row[1:][same]
        arrows = np.arange(len(tail), dtype=np.int64)
        rows = np.concatenate([tail, head])
        return Flows(
            category=np.full(len(rows), self._state.strings["flow"], np.int32),
            id=np.concatenate([arrows, arrows]),
            ts_ns=self._start[rows],
            thread=self._thread[rows],
            finish=np.repeat([0, 1], len(tail)).astype(np.int32),
        )

    def name_backward(self) -> None:
        """Give the operators of our export the numbers by which torch links both passes."""
        row, id = self._slices.links.flows()
        if not self._state.of_export or not len(row):
            return
        order = np.lexsort((self._start[row], id))
        row, id = row[order], id[order]
        first = starts_run(id)
        sequence = np.full(self._slices.begun.rows, NONE, np.int64)
        thread = sequence.copy()
        # An operator may be of a backward pass and forward of another: the first role counts.
        sequence[row[::-1]] = id[::-1]
        thread[row] = np.where(first, 0, 1)
        self._columns["sequence"], self._columns["forward_thread"] = sequence, thread

    def counters(self, tally: Tally) -> Counters:
        """Return the samples of counters of tracks and of devices."""
        tracks = self._tracks
        texts: list[tuple[str, str, str]] = []
        known: dict[int, int] = {}
        for code, uuid in enumerate(tracks.codes.values):
            track, pid, _ = tracks.chain(uuid)
            if track.is_counter and not track.computed:
                known[code] = len(texts)
                texts.append((track.name, "value", "" if pid is None else str(pid)))
        number = np.full(len(tracks.codes.values) + 1, NONE, np.int32)
        number[list(known)] = list(known.values())
        counted, gpus = self._slices.counted, self._device.counted
        values = self._scaled(counted["track"], counted["value"])
        first = len(texts)
        for gpu, id in self._device.series:
            name = self._device.counter_names.get(id, f"Counter {id}")
            texts.append((name, "value", f"GPU {gpu}"))
        series = np.concatenate([number[counted["track"]], gpus["series"] + first])
        clock = np.concatenate([counted["clock"], gpus["clock"]])
        samples = CounterSamples(
            series=series.astype(np.int32),
            ts_ns=self._times(clock, np.concatenate([counted["ts"], gpus["ts"]])),
            value=np.concatenate([values, gpus["value"]]),
            event=np.concatenate([counted["event"], gpus["event"]]),
        )
        kept = (samples.series >= 0) & (samples.series < _MOST_SERIES) & np.isfinite(samples.value)
        tally.add("counters_dropped", int((samples.series >= _MOST_SERIES).sum()))
        index = self._state.strings.__getitem__
        columns = [
            np.array([index(text[i]) for text in texts[:_MOST_SERIES]], np.int32) for i in range(3)
        ]
        return Counters(CounterSeries(*columns), samples.take(kept))

    def _scaled(self, code: I32, value: F64) -> F64:
        """Return values in the counter's unit; those of differences are summed."""
        values = value.copy()
        uuids = self._tracks.codes.values
        for own in np.unique(code).tolist():
            track = self._tracks.by_uuid.get(uuids[own], Track())
            if track.incremental or track.multiplier not in (0, 1):
                rows = np.flatnonzero(code == own)
                mine = value[rows] * (track.multiplier or 1)
                values[rows] = np.cumsum(mine) if track.incremental else mine
        return values
