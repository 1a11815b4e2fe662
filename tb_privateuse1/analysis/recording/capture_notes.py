"""Read what the capture notes of the recorded process: its threads, and the pages that it maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from tb_privateuse1.trace.model import Trace

_PAGES = "memory_pages"
"""Of ``capture/limits/process_use.py``."""
KEPT_BYTES = 128 << 10
"""Blocks from here on may be given back when they are freed: the least that glibc's
M_MMAP_THRESHOLD and M_TRIM_THRESHOLD begin with (mallopt(3))."""
_THREADS = "torch_threads"
"""Of ``capture/torch_threads.py``."""

_FEWEST = 2
"""Steps without a recording. The pages of a single one may be those of its own start."""

_LARGEST = 2**63 - 1
"""Of int64, as all numbers of a trace. JSON may have larger ones, which no float can be made of."""
_Count = Annotated[int, Meta(ge=0, le=_LARGEST)]
_Cost = Annotated[int, Meta(gt=0, le=_LARGEST)]
_Change = Annotated[int, Meta(ge=-_LARGEST, le=_LARGEST)]

_Noted = TypeVar("_Noted", bound=Struct)


class RecordedThreads(Struct, frozen=True):
    """Threads within an operator, and processors of this process; None if that is not known."""

    intra_op: int
    processors: int | None = None


class UsualPages(Struct, frozen=True):
    """The pages that a process mapped in steps without a recording."""

    steps: _Count
    faults: _Count
    growth_bytes: _Change


class RecordedPages(Struct, frozen=True):
    """The pages that a process mapped in its recording, and what they took.

    ``thread`` figures are of the thread that records. ``page_ns`` is what one page took on this
    host: mapped, written once and given back. ``growth_bytes`` is memory that stayed: while torch
    records, its own small blocks keep much of what would be given back.
    """

    faults: _Count
    thread_faults: _Count
    thread_user_ns: _Count
    thread_system_ns: _Count
    growth_bytes: _Change
    page_bytes: _Cost
    page_ns: _Cost
    allocator: str | None = None
    usual: UsualPages | None = None
    settings: Mapping[str, str] = {}

    @property
    def gives_back(self) -> bool:
        """Return whether the C library is known to give freed memory back, by its defaults."""
        is_set = any("THRESHOLD" in name or "trim" in text for name, text in self.settings.items())
        return (self.allocator or "").startswith("glibc") and not is_set

    def again(self, steps: int) -> float:
        """Return the pages of all recorded ``steps`` that were mapped and did not stay.

        Steps without a recording tell that, where there are two: the memory came again.
        """
        faults, growth_bytes, of_steps = self._counted(max(steps, 1))
        gone = max(faults - max(growth_bytes, 0) / self.page_bytes, 0)
        return gone / of_steps * max(steps, 1)

    @property
    def stayed(self) -> float:
        """Return the share of the pages that stayed: high while the memory is not settled."""
        faults, growth_bytes, _ = self._counted(1)
        return max(growth_bytes, 0) / self.page_bytes / max(faults, 1)

    def _counted(self, steps: int) -> tuple[int, int, int]:
        """Return pages, the bytes that stayed, and how many steps these are of."""
        usual = self.usual
        if usual is None or usual.steps < _FEWEST:
            return self.faults, self.growth_bytes, steps
        return usual.faults, usual.growth_bytes, usual.steps

    @property
    def thread_share(self) -> float:
        """Return the part of the pages that the thread mapped itself; others did theirs beside."""
        return min(self.thread_faults / max(self.faults, 1), 1.0)

    @property
    def each_ns(self) -> float:
        """Return what a page took: as measured alone, or less by the thread's system time."""
        return min(self.page_ns, self.thread_system_ns / max(self.thread_faults, 1))

    @property
    def most_ns(self) -> float:
        """Return what a page took at most: by the thread's time in the system, all of it."""
        return max(self.page_ns, self.thread_system_ns / max(self.thread_faults, 1))

    def slowed(self, spent_ns: int) -> float:
        """Return how much longer operators took than the thread had a processor, 1 at least.

        ``spent_ns`` is the time of torch's own operators. Other programs held them up, and new
        pages too.
        """
        had_ns = self.thread_user_ns + self.thread_system_ns
        return max(spent_ns / max(had_ns, 1), 1.0)


_OF_THREADS = msgspec.json.Decoder(RecordedThreads)
_OF_PAGES = msgspec.json.Decoder(RecordedPages)


def recorded_threads(trace: Trace) -> RecordedThreads | None:
    """Return the threads; None without an entry, and with a damaged one."""
    found = _noted(trace, _THREADS, _OF_THREADS)
    return found if found and min(found.intra_op, found.processors or 1) > 0 else None


def recorded_pages(trace: Trace) -> RecordedPages | None:
    """Return the pages; None without an entry, where the system did not tell, and if damaged."""
    return _noted(trace, _PAGES, _OF_PAGES)


def _noted(trace: Trace, wanted: str, decoder: msgspec.json.Decoder[_Noted]) -> _Noted | None:
    keys, values = trace.metadata.key.tolist(), trace.metadata.value.tolist()
    for key, value in zip(keys, values, strict=True):
        if trace.text(key) == wanted:
            try:
                return decoder.decode(trace.text(value))
            except msgspec.MsgspecError:
                return None
    return None
