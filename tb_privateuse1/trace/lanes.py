"""Put the instants of many threads on one axis: one search then serves all of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace.table import HALF_INT64, I32, I64, Bools


class Lanes(Struct, frozen=True):
    """An axis with the threads ``first`` to ``end``, one behind the other."""

    first: int
    end: int
    low_ns: int
    """The first instant of any of them."""
    length_ns: int
    """From one thread's first instant to that of the next: no instants of two threads touch."""

    def place(self, thread: I32 | I64, at_ns: I64) -> I64:
        """Return the places of instants of its threads, in ns."""
        lane = thread.astype(np.int64) - self.first
        lane *= self.length_ns
        lane += at_ns
        lane -= self.low_ns
        return lane

    def instants(self, place: I64) -> tuple[I32, I64]:
        """Return the threads and times of places: the opposite of ``place``."""
        lane, at_ns = np.divmod(place, self.length_ns)
        return (lane + self.first).astype(np.int32), at_ns + self.low_ns

    def has(self, thread: I32 | I64) -> Bools | slice:
        """Return which rows are of its threads; a slice where all are."""
        rows: Bools = (thread >= self.first) & (thread < self.end)
        return slice(None) if rows.all() else rows


def lanes(*instants: tuple[I32 | I64, I64]) -> Iterator[Lanes]:
    """Yield axes that together have all instants, given as columns of thread and time.

    That is one, unless threads and times are too many for int64. Threads are small numbers.
    """
    used = [(thread, at_ns) for thread, at_ns in instants if len(thread)]
    if not used:
        return
    first = min(int(thread.min()) for thread, _ in used)
    end = max(int(thread.max()) for thread, _ in used) + 1
    low = min(int(at_ns.min()) for _, at_ns in used)
    length = max(int(at_ns.max()) for _, at_ns in used) - low + 2
    each = max(HALF_INT64 // length, 1)
    for at in range(first, end, each):
        yield Lanes(at, min(at + each, end), low, length)
