"""One limit for all that this process keeps of traces in memory.

Columns of open traces, what is derived of them (``once``, ``prepared``) and the reductions of ranks
(``reading``) are entries of one budget. Each is computed once, however many threads ask for it.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

_T = TypeVar("_T")

LIMIT_BYTES = 2 << 30
_OBJECT_BYTES = 64
_PLAIN = {str, bytes, int, float, bool, type(None)}


@dataclass(eq=False)
class _Entry:
    value: Any
    bytes: int
    use: int
    """Grows with each use of any entry."""
    owns: bool
    goes_last: bool


@dataclass(eq=False)
class _Owned:
    entries: dict[Hashable, _Entry] = field(default_factory=dict)
    bytes: int = 0


class MemoryBudget:
    """Values by owner and key, up to a sum of bytes. Its methods may be called from any thread.

    An owner is held weakly, and its entries go with it: a value must not hold its owner. Over the
    limit, what was used longest ago goes first. A trace counts as used with what is derived of it,
    and goes after that. What was used last stays, however large, and the trace it is of.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._uses = itertools.count()
        self._owned: weakref.WeakKeyDictionary[Any, _Owned] = weakref.WeakKeyDictionary()
        self._running: dict[tuple[int, Hashable], Future[Any]] = {}

    @property
    def bytes(self) -> int:
        """The sum of all entries."""
        with self._lock:
            return self._sum()

    def keys(self, owner: object) -> list[Hashable]:
        """Of what is kept for an owner."""
        with self._lock:
            owned = self._owned.get(owner)
            return list(owned.entries) if owned else []

    def find(self, owner: object, key: Hashable) -> Any:
        """The value of a key, or None; it counts as used now."""
        with self._lock:
            entry = self._used(owner, key)
            return entry and entry.value

    def put(self, owner: object, key: Hashable, value: _T) -> _T:
        """Keep a value that owns others, or the one that was there first; returns that."""
        size = size_bytes(value)
        with self._lock:
            entry = self._used(owner, key)
            return self._keep(owner, key, value, size, owns=True) if entry is None else entry.value

    def compute(
        self,
        owner: object,
        key: Hashable,
        make: Callable[[], _T],
        *,
        owns: bool = False,
        goes_last: bool = False,
    ) -> _T:
        """The value of a key, made now by one of those who ask, if it is not there.

        Raises what making it raises, to all who wait for it; the next who asks makes it anew. It
        ``owns`` other values, as a trace does. With ``goes_last`` it goes after all others: for
        what is small, but takes long to make.
        """
        at = id(owner), key
        with self._lock:
            if (entry := self._used(owner, key)) is not None:
                value: _T = entry.value
                return value
            future = self._running.get(at)
            mine = future is None
            if future is None:
                future = self._running[at] = Future()
        if not mine:
            waited: _T = future.result()
            return waited
        try:
            made = make()
            size = size_bytes(made)
            with self._lock:
                self._keep(owner, key, made, size, owns=owns, goes_last=goes_last)
        except BaseException as error:
            future.set_exception(error)
            raise
        else:
            future.set_result(made)
            return made
        finally:
            with self._lock:
                del self._running[at]

    def _used(self, owner: object, key: Hashable) -> _Entry | None:
        owned = self._owned.get(owner)
        entry = owned.entries.get(key) if owned else None
        if entry is not None:
            entry.use = next(self._uses)
        return entry

    def _keep(
        self,
        owner: object,
        key: Hashable,
        value: _T,
        size: int,
        *,
        owns: bool = False,
        goes_last: bool = False,
    ) -> _T:
        owned = self._owned.setdefault(owner, _Owned())
        entry = _Entry(value, size, next(self._uses), owns, goes_last)
        owned.entries[key] = entry
        owned.bytes += size
        self._make_room(entry)
        return value

    def _make_room(self, latest: _Entry) -> None:
        excess = self._sum() - self.limit_bytes
        if excess <= 0:
            return
        found = [
            (entry.goes_last, *self._last_use(entry), key, entry, owned)
            for owned in list(self._owned.values())
            for key, entry in owned.entries.items()
        ]
        found.sort(key=lambda one: one[:3])
        traces = [entry for *_, entry, _ in found if entry.owns]
        for *_, key, entry, owned in found:
            if excess <= 0:
                return
            if entry is not latest and entry not in traces[-1:]:
                del owned.entries[key]
                owned.bytes -= entry.bytes
                excess -= entry.bytes

    def _last_use(self, entry: _Entry) -> tuple[int, bool]:
        """When an entry, or what it owns, was used; an owner goes after what it owns."""
        below = self._owned.get(entry.value) if entry.owns else None
        uses = [one.use for one in below.entries.values()] if below else []
        return max([entry.use, *uses]), entry.owns

    def _sum(self) -> int:
        return sum(owned.bytes for owned in list(self._owned.values()))


BUDGET = MemoryBudget()
"""That of this process."""


def size_bytes(value: Any) -> int:
    """About as many bytes as a value takes: its arrays and texts, and those of what it holds."""
    if isinstance(value, np.ndarray):
        return value.nbytes + _OBJECT_BYTES
    parts: Iterable[Any]
    if isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, tuple | list | set | frozenset):
        parts = value
    elif dataclasses.is_dataclass(value):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
    else:
        return sys.getsizeof(value)
    if set(map(type, parts)) <= _PLAIN:  # a million names at once
        return _OBJECT_BYTES + sum(map(sys.getsizeof, parts)) + 8 * len(parts)
    return _OBJECT_BYTES + sum(map(size_bytes, parts)) + 8 * len(parts)
