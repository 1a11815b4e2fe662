"""Read a large file in several processes, with the result of reading it in one.

One process cuts the text into windows (``window_chain``), others decode some of them at a time and
build their columns (``part_reading``), and the first one joins these in the order of the file. A
window that is damaged, or unusual in another way that depends on what was before it, is read in
the order of the file, by the one reader there is: ``Document``. What the workers made of later
windows is then dropped.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from tb_privateuse1.discovery import compressed_files
from tb_privateuse1.discovery.file import has_own_file, open_file
from tb_privateuse1.readers.chrome.file_reading import FileReading, read
from tb_privateuse1.readers.chrome.part_columns import unpack
from tb_privateuse1.readers.chrome.part_reading import Request, read_part
from tb_privateuse1.readers.chrome.text_source import PlainText, StreamedText, Text
from tb_privateuse1.readers.chrome.window_chain import Chain, Cut
from tb_privateuse1.readers.chrome.windows import WINDOW, ReadPosition
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.readers.raw import Progress, Raw
from tb_privateuse1.readers.reader import Processes
from tb_privateuse1.readers.worker_pool import CAN_FORK, Pool, WorkerDied

_HEAD_WINDOWS = 2
"""Read in order before workers start: they show most kinds of events."""
_LARGE_BYTES, _LARGE_PACKED_BYTES = 64 << 20, 4 << 20
"""Below these, several processes take as long as one: see docs/internals/performance.md."""
_PART_WINDOWS = 8
"""Windows in one request: the least that makes sending the texts of each a small cost."""
_MOST_COLUMNS = 4
"""Columns of a part in bytes per byte of its text; real ones have less than 1."""
_MOST_RETURNS = 8
"""Times that a part is read in order, after which the rest of the file is."""

_log = logging.getLogger(__name__)


def read_parallel(
    path: str, progress: Progress | None, processes: Processes, *, least_bytes: int | None = None
) -> Raw:
    """Return what ``read`` does, to the byte, and raise the same, in several processes.

    They are forked, so that this is for a program without other threads at work. A file below
    ``least_bytes`` is read in this one, by default below the size from which that takes longer.
    """
    reading = FileReading(path, progress)
    with _open(reading.source, least_bytes) as text:
        if text is None or processes.count < 2 or not CAN_FORK:
            return read(path, progress)
        place = reading.read_in_order(text.blocks(0), text=text, windows=_HEAD_WINDOWS)
        if place is not None:
            with ParallelReading(reading, text, processes) as parallel:
                while place is not None:
                    place = parallel.read(place)
                    blocks = text.blocks(place.offset_bytes)
                    windows = None if parallel.is_over else _PART_WINDOWS
                    place = reading.read_in_order(blocks, place, text=text, windows=windows)
        return reading.raw()


@contextlib.contextmanager
def _open(source: Source, least_bytes: int | None) -> Iterator[Text | None]:
    """Open a file's text; None of one that is too small, too large or cannot be opened."""
    try:
        file = open_file(source.path)
    except OSError:
        yield None
        return
    with file:
        packing = compressed_files.packing_of(file.read(compressed_files.HEAD_BYTES))
        size = file.seek(0, 2)
        is_plain = packing is None and has_own_file(source.path)
        least = (
            least_bytes
            if least_bytes is not None
            else (_LARGE_BYTES if packing is None else _LARGE_PACKED_BYTES)
        )
        if size < least or (is_plain and size > compressed_files.most_bytes(size)):
            yield None
        else:
            yield PlainText(source, file.fileno()) if is_plain else StreamedText(source)


class _Ticket(Struct, eq=False):
    """A request: its windows, and the answer once it is there."""

    slot: int
    cuts: list[Cut]
    behind: ReadPosition
    """Where the next window begins."""
    answer: bytes | None = None
    is_repeated: bool = False


class ParallelReading:
    """Workers for one file; a context manager, as they have to be ended."""

    def __init__(self, reading: FileReading, text: Text, processes: Processes) -> None:
        self._reading = reading
        self._text = text
        self._returns = 0
        self._tickets: dict[int, _Ticket] = {}
        """By slot, in the order of the file."""
        self._pool = Pool(
            functools.partial(read_part, file=text.file),
            processes.count,
            _MOST_COLUMNS * _PART_WINDOWS * WINDOW,
            files=[] if text.file is None else [text.file],
            prepare=processes.prepare,
        )

    def __enter__(self) -> ParallelReading:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.__exit__(None, None, None)

    @property
    def is_over(self) -> bool:
        """Return whether the rest is read in order: it would be all the time."""
        return self._returns >= _MOST_RETURNS

    def read(self, place: ReadPosition) -> ReadPosition:
        """Add the windows from a place on; returns where to go on in the order of the file."""
        self._returns += 1
        chain = Chain(self._text, place)
        try:
            while (ticket := self._next(chain)) is not None:
                joined = self._join(ticket)
                if joined is None and not ticket.is_repeated:
                    self._repeat(ticket)
                    continue
                self._pool.release(ticket.slot)
                is_whole = joined == len(ticket.cuts)
                place = ticket.behind if is_whole else ticket.cuts[joined or 0].place
                self._text.forget(place.offset_bytes)
                if not is_whole:
                    self._drop()
                    break
        except WorkerDied as error:
            _log.warning("One process reads the rest of the file: %s.", error)
            self._returns = _MOST_RETURNS
        return place

    def _next(self, chain: Chain) -> _Ticket | None:
        """Return the next request in the order of the file, answered; None without any."""
        tickets = self._tickets
        while (ticket := self._request(chain)) is not None:
            tickets[ticket.slot] = ticket
        first = next(iter(tickets.values()), None)
        while first is not None and first.answer is None:
            self._hear()
        return tickets.pop(first.slot) if first else None

    def _request(self, chain: Chain) -> _Ticket | None:
        """Submit some windows; None if no worker has room, or there is nothing left to cut."""
        if chain.ended or (slot := self._pool.take_slot()) is None:
            return None
        cuts = list(itertools.islice(chain, _PART_WINDOWS))
        if not cuts:
            self._pool.release(slot)
            return None
        ticket = _Ticket(slot, cuts, chain.place)
        self._submit(ticket)
        return ticket

    def _repeat(self, ticket: _Ticket) -> None:
        """Submit a request again, with the kinds that are known now, as the first to be joined."""
        ticket.is_repeated, ticket.answer = True, None
        self._submit(ticket)
        self._tickets = {ticket.slot: ticket} | self._tickets

    def _submit(self, ticket: _Ticket) -> None:
        windows = [(place.offset_bytes, stop - place.offset_bytes) for place, stop in ticket.cuts]
        if self._text.file is None:
            first, size = windows[0][0], ticket.cuts[-1].stop - windows[0][0]
            self._pool.slots[ticket.slot][:size] = self._text.read(first, size)
            windows = [(start - first, length) for start, length in windows]
        kinds = self._reading.builder.kinds()
        assert kinds is not None, "there are too many kinds"
        request = Request(windows, self._reading.decoder.is_exact, kinds)
        self._pool.submit(ticket.slot, msgspec.msgpack.encode(request))

    def _hear(self) -> None:
        for slot, answer in self._pool.receive():
            self._tickets[slot].answer = answer

    def _join(self, ticket: _Ticket) -> int | None:
        """Add what a worker has read, and return the number of windows.

        None: nothing was added, as more kinds of events are known now than when it was read.
        """
        if not ticket.answer:
            return 0
        part = unpack(ticket.answer, self._pool.slots[ticket.slot])
        places = [cut.place for cut in ticket.cuts]
        done = None if self._text.file is None else ticket.behind.offset_bytes
        return len(part.events) if self._reading.join(part, places, done) else None

    def _drop(self) -> None:
        """Wait for all answers, and forget them."""
        while any(ticket.answer is None for ticket in self._tickets.values()):
            self._hear()
        for slot in self._tickets:
            self._pool.release(slot)
        self._tickets.clear()
