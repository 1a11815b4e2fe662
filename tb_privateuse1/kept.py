"""The traces that are open in this process, up to a sum of bytes."""

from __future__ import annotations

from collections import OrderedDict

from tb_privateuse1.trace import TABLES, Trace


class Kept:
    """The latest traces up to a sum of bytes; its owner's lock guards it."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._traces: OrderedDict[str, tuple[Trace, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> Trace | None:
        """The trace of a key, which is the latest then."""
        if key not in self._traces:
            return None
        self._traces.move_to_end(key)
        return self._traces[key][0]

    def put(self, key: str, trace: Trace) -> Trace:
        """Keep a trace, or the one that was there first; returns that."""
        if (known := self.get(key)) is not None:
            return known
        self._traces[key] = trace, size_bytes(trace)
        self._bytes += self._traces[key][1]
        while self._bytes > self._limit_bytes and len(self._traces) > 1:
            self._bytes -= self._traces.popitem(last=False)[1][1]
        return trace


def size_bytes(trace: Trace) -> int:
    """The bytes of a trace's columns and, about, of its strings."""
    columns: int = sum(c.nbytes for name in TABLES for _, c in getattr(trace, name).columns())
    return columns + sum(map(len, trace.strings)) + 57 * len(trace.strings)
