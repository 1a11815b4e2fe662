"""Chrome trace JSON as torch's Kineto and Python exporters write it, plain or gzipped.

Supported: an object with ``traceEvents`` or a bare list; events ``X``, ``B``/``E``, ``i``
(``[memory]``), ``s``/``f``, ``M``; numbers as numbers or strings; categories in any spelling (they
are kept as they are). Other phases are counted and reported; so is all that was damaged, repaired
or left out (``quality``). Format: the Chrome Trace Event Format; torch/csrc/profiler and
libkineto/src/output_json.cpp for the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tb_privateuse1.read.base import Progress, Raw
from tb_privateuse1.read.columns import Builder
from tb_privateuse1.read.document import Document
from tb_privateuse1.read.events import FAST, LOOSE, Event
from tb_privateuse1.read.metadata import BROKEN, no_event
from tb_privateuse1.read.quality import Tally
from tb_privateuse1.read.source import Source
from tb_privateuse1.read.times import Inexact

_MAX_MISSES = 3
"""Windows that are not of the fast shape before the loose one is tried at once."""


def read(path: str, progress: Progress | None = None) -> Raw:
    """The columns of one trace file, and in ``findings`` what was wrong with it.

    Everything that is complete is read, whatever comes before or after it. Raises TraceError
    ``unreadable`` (the file cannot be opened), ``too_large``, ``not_json`` or ``not_a_trace``.
    """
    tally = Tally()
    source = Source(path, progress)
    document = Document(source.blocks(), path, tally)
    decoder = _Decoder(tally)
    builder = Builder(tally)
    for text, events in document.windows(decoder.decode):
        try:
            builder.add(events, text)
        except Inexact:
            builder.add(decoder.exact(text), text)
        source.events += len(events)
    if source.fault == "damaged":
        tally.add("gzip_damaged")
    if not source.events:
        broken = "damaged" in tally or "truncated" in tally
        if error := no_event(path, broken, "malformed_events" in tally):
            raise error
    metadata = {k: value for k, raw in document.keys.items() if (value := _value(raw)) is not None}
    if progress:
        progress("reading", source.size, source.size, source.events)
    return builder.raw(metadata)


class Verbatim:
    """A file's own text, for an export that adds to it. Damaged parts are left out.

    ``events`` has to be gone through before ``keys`` are all there; those before the events are
    there from the first window on.
    """

    def __init__(self, path: str) -> None:
        self._document = Document(Source(path).blocks(), path, Tally())

    @property
    def keys(self) -> dict[str, msgspec.Raw]:
        """The top-level keys but for the events, undecoded."""
        return self._document.keys

    def events(self) -> Iterator[bytes]:
        """Events as JSON text, several at once with commas between. Raises as ``read`` does."""
        for text, _ in self._document.windows(_list_of_raw):
            yield text[1:-1].strip()


def _list_of_raw(text: bytes) -> list[msgspec.Raw]:
    return msgspec.json.decode(text, type=list[msgspec.Raw])


def _value(raw: msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except BROKEN:
        return None


class _Decoder:
    """``[…]`` -> events, of the fast shape where that fits."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._fast = msgspec.json.Decoder(list[FAST])  # type: ignore[valid-type]
        self._loose = msgspec.json.Decoder(list[LOOSE])  # type: ignore[valid-type]
        self._misses = 0

    def decode(self, text: bytes) -> list[Event]:
        if self._misses < _MAX_MISSES:
            try:
                return self._fast.decode(text)
            except msgspec.ValidationError:
                self._misses += 1
        return self._exactly(text)

    def exact(self, text: bytes) -> list[Event]:
        """The same events again, with exact times; so are all that follow."""
        self._misses = _MAX_MISSES
        return self._exactly(text)

    def _exactly(self, text: bytes) -> list[Event]:
        try:
            return self._loose.decode(text)
        except msgspec.ValidationError:
            return self._each(text)

    def _each(self, text: bytes) -> list[Event]:
        """One odd event must not cost the rest: decode them singly and count what is dropped."""
        decoder = msgspec.json.Decoder(LOOSE)
        events: list[Event] = []
        odd: list[str] = []
        for one in _list_of_raw(text):
            try:
                events.append(decoder.decode(one))
            except msgspec.ValidationError as error:
                odd.append(str(error))
        self._tally.add("malformed_events", len(odd), odd[0] if odd else "")
        return events
