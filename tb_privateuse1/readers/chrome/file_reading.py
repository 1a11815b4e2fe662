"""Read a trace file to columns, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tb_privateuse1.readers.chrome.checkpoints import CheckpointTrail
from tb_privateuse1.readers.chrome.column_builder import Builder
from tb_privateuse1.readers.chrome.decoder import Decoder
from tb_privateuse1.readers.chrome.document import Document
from tb_privateuse1.readers.chrome.json_values import BROKEN, no_event
from tb_privateuse1.readers.chrome.part_columns import PartColumns
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.chrome.text_source import Text
from tb_privateuse1.readers.chrome.timestamps import Inexact
from tb_privateuse1.readers.chrome.windows import ReadPosition
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.readers.raw import Progress, Raw


def read(path: str, progress: Progress | None = None) -> Raw:
    """Return the columns of a trace file; ``findings`` list its problems.

    All complete events are read, also those behind a damaged place. Raises TraceError
    ``unreadable`` (the file cannot be opened), ``too_large``, ``not_json`` or ``not_a_trace``.
    """
    reading = FileReading(path, progress)
    reading.read_in_order(reading.source.blocks())
    return reading.raw()


class FileReading:
    """The columns of one file on their way, with the counts of its problems."""

    def __init__(self, path: str, progress: Progress | None) -> None:
        self._tally = Tally()
        self.source = Source(path, progress)
        self.decoder = Decoder(self._tally)
        self.builder = Builder(self._tally)
        self._trail = CheckpointTrail()
        self._keys: dict[str, msgspec.Raw] = {}
        self._progress = progress

    def read_in_order(
        self,
        blocks: Iterator[bytes],
        place: ReadPosition | None = None,
        *,
        text: Text | None = None,
        windows: int | None = None,
    ) -> ReadPosition | None:
        """Read from a place on, at which the blocks begin, in this process.

        With ``windows`` it may stop after that number, and return a place where ``text`` can be
        read on. None: the end of the file is reached.
        """
        document = Document(blocks, self.source.path, self._tally, place)
        count = 0
        for window, events in document.windows(self.decoder.decode):
            self._trail.add(document.place, self.source.events)
            try:
                self.builder.add(events, window)
            except Inexact:
                self.builder.add(self.decoder.exact(window), window)
            self.source.events += len(events)
            del window, events
            count += 1
            if windows is None or count < windows or document.has_lines:
                continue
            place = document.next_place()
            if (
                place
                and text
                and text.holds(place.offset_bytes)
                and self.builder.kinds() is not None
            ):
                self._keys |= document.keys
                return place
        self._keys |= document.keys
        return None

    def join(self, part: PartColumns, places: Sequence[ReadPosition], done: int | None) -> bool:
        """Add a part that another process has read; False if its kinds are in another order.

        ``places`` are those of its windows. ``done`` is how much of the file was read, None if its
        source reports that.
        """
        first = self.source.events
        if not self.builder.join(part):
            return False
        for place, events in zip(places, part.events, strict=False):
            self._trail.add(place, first)
            first += events
        self.source.events = first
        if self._progress and done is not None:
            self._progress("reading", done, self.source.size, first)
        return True

    def raw(self) -> Raw:
        """Return the columns of the file. Raises TraceError if it is not a trace."""
        source, tally = self.source, self._tally
        if source.fault == "damaged":
            tally.add("gzip_damaged")
        if source.events == self.decoder.malformed:
            broken = "damaged" in tally or "truncated" in tally
            if error := no_event(source.path, broken, "malformed_events" in tally):
                raise error
        values = {
            key: value for key, raw in self._keys.items() if (value := _value(raw)) is not None
        }
        if self._progress:
            self._progress("reading", source.size, source.size, source.events)
        return self.builder.raw(values, self._trail.checkpoints())


def _value(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except BROKEN:
        return None
