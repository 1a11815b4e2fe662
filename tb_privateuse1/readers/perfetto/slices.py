"""Read track events: slices, instants and counters of tracks, and their links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.readers import brackets
from tb_privateuse1.readers.chrome.growing_columns import Columns
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.perfetto import schema
from tb_privateuse1.readers.perfetto.arguments import Arguments
from tb_privateuse1.readers.perfetto.links import Links
from tb_privateuse1.readers.perfetto.state import Packets, State, text_column
from tb_privateuse1.readers.perfetto.stream import Batch
from tb_privateuse1.readers.perfetto.tracks import Tracks, sequence_track
from tb_privateuse1.readers.perfetto.wire import FIXED64, Fields, Spans, scan
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.perfetto_words import COUNTER, INSTANT, SLICE_BEGIN, SLICE_END
from tb_privateuse1.trace.table import I32, I64

_TYPE_OF_PHASE = {ord("B"): SLICE_BEGIN, ord("E"): SLICE_END, ord("I"): INSTANT,
                  ord("i"): INSTANT, ord("X"): INSTANT}  # fmt: skip
"""``LegacyEvent.phase``: a whole range is an instant with a length."""


class Slices:
    """The track events of a file while it is read."""

    def __init__(self, state: State, tracks: Tracks, tally: Tally) -> None:
        self._state, self._tracks, self._tally = state, tracks, tally
        self.arguments = Arguments(state)
        self.links = Links()
        self.begun = Columns(
            track=np.int32, clock=np.int32, ts=np.int64, order=np.int64, length=np.int64,
            name=np.int32, category=np.int32, event=np.int32,
        )  # fmt: skip
        """Slices and instants; ``length`` is ``NONE`` of those that an end closes."""
        self.ends = Columns(track=np.int32, clock=np.int32, ts=np.int64, order=np.int64)
        self.counted = Columns(
            track=np.int32, clock=np.int32, ts=np.int64, value=np.float64, event=np.int32
        )

    def add(self, batch: Batch, packets: Packets, clock: I32, ts: I64, first: int) -> None:
        """Add the track events of a batch, whose first packet has the number ``first``."""
        owner, spans = batch.fields.spans(schema.TRACK_EVENT)
        usable = packets.usable[owner]
        self._tally.add("names_lost", int((~usable).sum()))
        if not len(owner):
            return
        fields = scan(batch.buffer, spans)
        usable &= ~fields.broken
        self._tally.add("malformed_events", int(fields.broken.sum()), "TrackEvent")
        timed = batch.fields.has(schema.TIMESTAMP)[owner]
        self._tally.add("events_without_time", int((usable & ~timed).sum()))
        usable &= timed
        kind, length, legacy_name = self._kinds(batch, fields)
        track = self._track_codes(fields, packets, owner)
        ts, clock, event = ts[owner], clock[owner], (first + owner).astype(np.int32)
        ends = np.flatnonzero(usable & (kind == SLICE_END))
        self.ends.add(track=track[ends], clock=clock[ends], ts=ts[ends], order=first + owner[ends])
        self._add_counters(fields, usable & (kind == COUNTER), track, clock, ts, event)
        rows = np.flatnonzero(usable & ((kind == SLICE_BEGIN) | (kind == INSTANT)))
        if not len(rows):
            return
        generation = packets.generation[owner]
        number = np.full(len(owner), NONE, np.int64)
        number[rows] = self.begun.rows + np.arange(len(rows))
        name = self._names(batch, fields, generation, legacy_name)
        self._annotate(batch, fields, number, generation)
        self.links.add(batch.buffer, fields, number)
        self.begun.add(
            track=track[rows], clock=clock[rows], ts=ts[rows], order=first + owner[rows],
            length=np.where(kind == INSTANT, length, NONE)[rows],
            name=name[rows],
            category=self._categories(batch, fields, generation)[rows],
            event=event[rows],
        )  # fmt: skip

    def _kinds(self, batch: Batch, fields: Fields) -> tuple[I64, I64, I64]:
        """Return types of events; lengths and names of those in the form of older traces."""
        kind = fields.numbers(9, 0)
        length, name = np.zeros(len(kind), np.int64), np.zeros(len(kind), np.int64)
        row, spans = fields.spans(6)
        if len(row):
            legacy = scan(batch.buffer, spans)
            phase = legacy.numbers(2, 0)
            types = np.array([_TYPE_OF_PHASE.get(p, 0) for p in range(128)])
            of_phase = types[np.where((phase >= 0) & (phase < 128), phase, 0)]
            kind[row] = np.where(kind[row] == 0, of_phase, kind[row])
            whole = phase == ord("X")
            lasts = np.clip(legacy.numbers(3, 0), 0, 1 << 51) * 1000
            length[row] = np.where(whole, lasts, 0)
            name[row] = legacy.numbers(1, 0)
        return kind, length, name

    def _track_codes(self, fields: Fields, packets: Packets, owner: I64) -> I32:
        uuid = fields.numbers(11, 0)
        default, sequence = packets.track[owner], packets.sequence[owner]
        uuid = np.where(uuid == 0, default, uuid)
        return self._tracks.codes.of(np.where(uuid == 0, sequence_track(sequence), uuid))

    def _names(self, batch: Batch, fields: Fields, generation: I64, legacy: I64) -> I32:
        iid = fields.numbers(10, 0)
        name = self._state.names.find(generation, np.where(iid == 0, legacy, iid))
        row, spans = fields.spans(23)
        if len(row):
            name[row] = text_column(batch.buffer, spans, self._state.index)
        if (name < 0).any():
            name[name < 0] = self._state.index(b"")
        return name

    def _categories(self, batch: Batch, fields: Fields, generation: I64) -> I32:
        """Return the first category of each event."""
        found = np.full(fields.messages, NONE, np.int32)
        row, spans = fields.spans(22)
        found[row[::-1]] = text_column(batch.buffer, spans, self._state.index)[::-1]
        rows = fields.rows(3)[::-1]
        message = fields.message[rows]
        ids = fields.value[rows].view(np.int64)
        found[message] = self._state.categories.find(generation[message], ids)
        row, spans = fields.spans(3)  # packed
        for at, text in zip(row.tolist(), batch.buffer.texts(spans), strict=True):
            one = np.array([text[0] if text else 0], np.int64)
            found[at] = self._state.categories.find(generation[[at]], one)[0]
        return found

    def _annotate(self, batch: Batch, fields: Fields, number: I64, generation: I64) -> None:
        row, spans = fields.spans(4)
        kept = number[row] >= 0
        if kept.any():
            row = row[kept]
            self.arguments.add(batch.buffer, number[row], generation[row], _take(spans, kept))

    def _add_counters(
        self,
        fields: Fields,
        usable: NDArray[np.bool_],
        track: I32,
        clock: I32,
        ts: I64,
        event: I32,
    ) -> None:
        rows = np.flatnonzero(usable)
        if not len(rows):
            return
        value = fields.numbers(30, 0).astype(np.float64)
        doubles = fields.has(44, FIXED64)
        value[doubles] = fields.numbers(44, 0, FIXED64)[doubles].view(np.float64)
        finite = np.isfinite(value[rows])
        self._tally.add("counters_no_number", int((~finite).sum()))
        rows = rows[finite]
        self.counted.add(
            track=track[rows], clock=clock[rows], ts=ts[rows], value=value[rows], event=event[rows]
        )

    def lengths(self, start_ns: I64, end_ns: I64) -> I64:
        """Return the ends of slices, which are matched on each thread like brackets.

        ``start_ns`` and ``end_ns`` are the times of ``begun`` and ``ends``.
        """
        instant = self.begun["length"] >= 0
        closing = np.flatnonzero(~instant)
        ts = np.concatenate([start_ns[closing], end_ns])
        order = np.concatenate([self.begun["order"][closing], self.ends["order"]])
        track = np.concatenate([self.begun["track"][closing], self.ends["track"]])
        is_end = np.arange(len(ts)) >= len(closing)
        by_file = np.argsort(order, kind="stable")
        found = np.full(len(ts), NONE, np.int64)
        matched = brackets.match(track[by_file], ts[by_file], is_end[by_file])
        found[by_file] = np.where(matched >= 0, by_file[matched], NONE)
        result: I64 = start_ns + np.maximum(self.begun["length"], 0)
        last = max(int(ts.max(initial=0)), int(result.max(initial=0)))
        own = found[: len(closing)]
        result[closing] = np.where(own >= 0, ts[own], last)
        self._tally.add("unclosed_ranges", int((own < 0).sum()))
        used = int((own >= 0).sum())
        self._tally.add("unopened_ends", len(end_ns) - used)
        return result


def _take(spans: Spans, rows: NDArray[np.bool_]) -> Spans:
    return spans if rows.all() else spans.take(rows)
