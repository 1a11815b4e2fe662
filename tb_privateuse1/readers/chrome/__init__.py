"""Read Chrome trace JSON as torch's Kineto and Python exporters write it, plain or packed.

Supported: an object with ``traceEvents``, a bare list or one event per line; events ``X``,
``B``/``E``, ``i`` (``[memory]``), ``s``/``f``, ``M``; numbers as numbers or strings; categories in
any spelling, which stays unchanged. Other phases are counted and reported, as are damage, repairs
and omissions (``problem_tally``). Format: the Chrome Trace Event Format; torch/csrc/profiler and
libkineto/src/output_json.cpp for the arguments.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from tb_privateuse1.readers.base import Reader
from tb_privateuse1.readers.chrome import sniff
from tb_privateuse1.readers.chrome.decoder import list_of_raw
from tb_privateuse1.readers.chrome.document import Document
from tb_privateuse1.readers.chrome.execution_trace_head import process_of
from tb_privateuse1.readers.chrome.file_reading import read, read_parallel
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.chrome.single_event import read_event
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.readers.raw import Raw

__all__ = [
    "CHROME",
    "single_event",
]

_OWN_NAMES = re.compile(r"\.pt\.trace\.json$|^libkineto_.*\.json$", re.IGNORECASE)


class Verbatim:
    """The text of a file, for an export that adds events to it. Damaged parts are left out.

    ``keys`` is complete only after ``events``. Keys in front of the events are there from the first
    window on.
    """

    def __init__(self, path: str) -> None:
        self._document = Document(Source(path).blocks(), path, Tally())

    @property
    def keys(self) -> dict[str, msgspec.Raw]:
        """Return the top-level keys except the events, undecoded."""
        return self._document.keys

    def events(
        self, select: Callable[[list[msgspec.Raw]], list[bool]] | None = None
    ) -> Iterator[bytes]:
        """Yield events as JSON text, several at once with commas between. Raises as ``read``.

        ``select`` returns for some events which of them are wanted; None: all.
        """
        for text, events in self._document.windows(list_of_raw):
            if select is None:
                yield text[1:-1].strip()
            elif chosen := list(itertools.compress(events, select(events))):
                yield b",\n".join(map(bytes, chosen))


def complete(raw: Raw, parts: Sequence[str]) -> Raw:
    """Return the raw columns with what execution traces beside the file add."""
    if not parts:
        return raw
    # It takes this package, and most programs that read have no execution traces.
    from tb_privateuse1.readers import execution_trace

    return execution_trace.complete(raw, parts)


CHROME = Reader(
    name="chrome",
    suffixes=(".json",),
    sniff=sniff.sniff,
    last_info=sniff.last_info,
    own_names=_OWN_NAMES,
    beside=process_of,
    complete=complete,
    read=read,
    read_parallel=read_parallel,
    record=read_event,
    verbatim=Verbatim,
)
