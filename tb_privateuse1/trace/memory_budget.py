"""One memory limit for all open traces of this process and everything derived from them.

Columns of traces, results derived from them (``memoize``, ``storage.derived``) and the reductions
of ranks are entries of one budget. Threads that need the same entry share one computation.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Hashable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, field

from tb_privateuse1.trace.interruption import Interrupted

_T = TypeVar("_T")

LIMIT_BYTES = 2 << 30
_LOOKS = 4
"""How often values are looked at while they become idle, at least."""
_LOOK_S = 15.0
"""Time between two looks, at most: each gives back what was freed since, in milliseconds."""
_OBJECT_BYTES = 64
_PLAIN = {str, bytes, int, float, bool, type(None)}


class _Entry(Struct, eq=False):
    value: Any
    bytes: int
    use: int
    """Grows with each use of any entry."""
    owns: bool
    goes_last: bool
    used_s: float


class _Owned(Struct, eq=False):
    entries: dict[Hashable, _Entry] = field(default_factory=dict)
    bytes: int = 0


class _Left(Exception):
    """The thread that made a value gave up."""


class MemoryBudget:
    """Values by owner and key, up to a sum of bytes. Its methods may be called from any thread.

    An owner is held weakly, and its entries go with it: a value must not hold its owner. Over the
    limit the least recently used entry goes first. Using a value derived from a trace uses the
    trace, which goes after all its values. The last used value and its trace stay over the limit.
    ``clock`` returns seconds.
    """

    def __init__(
        self, limit_bytes: int = LIMIT_BYTES, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit_bytes = limit_bytes
        self._clock = clock
        self._idle_s: float | None = None
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._uses = itertools.count()
        self._owned: weakref.WeakKeyDictionary[Any, _Owned] = weakref.WeakKeyDictionary()
        self._running: dict[tuple[int, Hashable], Future[Any]] = {}

    @property
    def bytes(self) -> int:
        """Return the sum of all entries."""
        with self._lock:
            return self._sum()

    def keys(self, owner: object) -> list[Hashable]:
        """Return the keys of an owner's entries."""
        with self._lock:
            owned = self._owned.get(owner)
            return list(owned.entries) if owned else []

    def drop_when_idle(self, idle_s: float | None) -> None:
        """From now on drop what nobody has used for so long; None: no more.

        A server must give memory back that nobody uses, and its next request may come much later:
        a timer runs while there are values.
        """
        from tb_privateuse1.trace import freed_memory  # for servers alone

        freed_memory.use_few_heaps()
        with self._lock:
            self._idle_s = idle_s
            self._set_timer_again()

    def drop_idle(self, idle_s: float) -> None:
        """Drop what nobody has used for so long, except small values that take long to make."""
        latest_s = self._clock() - idle_s
        with self._lock:
            idle = [
                (owned, key, entry)
                for owned in list(self._owned.values())
                for key, entry in owned.entries.items()
                if not entry.goes_last and self._last_used_s(entry) <= latest_s
            ]
            for owned, key, entry in idle:
                del owned.entries[key]
                owned.bytes -= entry.bytes

    def _last_used_s(self, entry: _Entry) -> float:
        below = self._owned.get(entry.value) if entry.owns else None
        used = [one.used_s for one in below.entries.values()] if below else []
        return max([entry.used_s, *used])

    def _set_timer_again(self) -> None:
        """Set the timer if there are values that it may drop."""
        entries = (one for owned in list(self._owned.values()) for one in owned.entries.values())
        if any(not entry.goes_last for entry in entries):
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is None and self._idle_s is not None:
            self._timer = threading.Timer(min(self._idle_s / _LOOKS, _LOOK_S), self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        from tb_privateuse1.trace import freed_memory  # for servers alone

        if self._idle_s is not None:
            self.drop_idle(self._idle_s)
        freed_memory.give_back()
        with self._lock:
            self._timer = None
            self._set_timer_again()

    def find(self, owner: object, key: Hashable) -> Any:
        """Return the value of a key, or None; it counts as used now."""
        with self._lock:
            entry = self._use(owner, key)
            return entry and entry.value

    def replace(self, owner: object, key: Hashable, value: object, size: int) -> None:
        """Store a value in place of that of a key; ``size`` is in bytes."""
        with self._lock:
            self._store(owner, key, value, size)

    def put(self, owner: object, key: Hashable, value: _T) -> _T:
        """Store a value that owns others, unless the key has one; return the stored value."""
        size = size_bytes(value)
        with self._lock:
            entry = self._use(owner, key)
            return self._store(owner, key, value, size, owns=True) if entry is None else entry.value

    def put_all(self, owner: object, values: Mapping[Hashable, Any], bytes_each: int) -> None:
        """Store values of a like size that go after all others, unless their key has one."""
        with self._lock:
            for key, value in values.items():
                if self._use(owner, key) is None:
                    self._store(owner, key, value, bytes_each, goes_last=True)

    def compute(
        self,
        owner: object,
        key: Hashable,
        make: Callable[[], _T],
        *,
        owns: bool = False,
        goes_last: bool = False,
        weigh: Callable[[_T], int] | None = None,
    ) -> _T:
        """Return the value of a key; without one, one of the calling threads makes it.

        Raises an error of ``make`` in all waiting threads; the next call makes the value anew.
        Where it was interrupted, the next of the waiting threads makes it.
        With ``owns`` the value owns other values, as a trace does. With ``goes_last`` it goes
        after all others: for small values that take long to make. ``weigh`` returns the bytes of
        the value, by default ``size_bytes``.
        """
        while True:
            with contextlib.suppress(_Left):
                return self._compute(
                    owner, key, make, owns=owns, goes_last=goes_last, weigh=weigh or size_bytes
                )

    def _compute(
        self,
        owner: object,
        key: Hashable,
        make: Callable[[], _T],
        *,
        owns: bool,
        goes_last: bool,
        weigh: Callable[[_T], int],
    ) -> _T:
        at = id(owner), key
        with self._lock:
            if (entry := self._use(owner, key)) is not None:
                value: _T = entry.value
                return value
            future = self._running.get(at)
            is_first = future is None
            if future is None:
                future = self._running[at] = Future()
        if not is_first:
            try:
                shared: _T = future.result()
            except Interrupted as error:  # nobody waits for that thread, but for this one
                raise _Left from error
            finally:
                del future  # an error of it has this frame in its traceback
            return shared
        try:
            made = make()
            size = weigh(made)
            with self._lock:
                self._store(owner, key, made, size, owns=owns, goes_last=goes_last)
        except BaseException as error:
            future.set_exception(error)
            raise
        else:
            future.set_result(made)
            return made
        finally:
            with self._lock:
                del self._running[at]
            del future

    def _use(self, owner: object, key: Hashable) -> _Entry | None:
        owned = self._owned.get(owner)
        entry = owned.entries.get(key) if owned else None
        if entry is not None:
            entry.use = next(self._uses)
            entry.used_s = self._clock()
        return entry

    def _store(
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
        entry = _Entry(value, size, next(self._uses), owns, goes_last, self._clock())
        before = owned.entries.get(key)
        owned.entries[key] = entry
        owned.bytes += size - (before.bytes if before else 0)
        self._make_room(entry)
        if not goes_last:
            self._set_timer()
        return value

    def _make_room(self, latest: _Entry) -> None:
        excess = self._sum() - self.limit_bytes
        if excess <= 0:
            return
        candidates = [
            (entry.goes_last, *self._last_use(entry), key, entry, owned)
            for owned in list(self._owned.values())
            for key, entry in owned.entries.items()
        ]
        candidates.sort(key=lambda one: one[:3])
        traces = [entry for *_, entry, _ in candidates if entry.owns]
        for *_, key, entry, owned in candidates:
            if excess <= 0:
                return
            if entry is not latest and entry not in traces[-1:]:
                del owned.entries[key]
                owned.bytes -= entry.bytes
                excess -= entry.bytes

    def _last_use(self, entry: _Entry) -> tuple[int, bool]:
        """Return an entry's last use, or that of its values; an owner goes after its values."""
        below = self._owned.get(entry.value) if entry.owns else None
        uses = [one.use for one in below.entries.values()] if below else []
        return max([entry.use, *uses]), entry.owns

    def _sum(self) -> int:
        return sum(owned.bytes for owned in list(self._owned.values()))


BUDGET = MemoryBudget()
"""The budget of this process."""


def size_bytes(value: Any) -> int:
    """Return about the bytes that a value takes, with all arrays and texts inside."""
    if isinstance(value, np.ndarray):
        return value.nbytes + _OBJECT_BYTES
    parts: Collection[Any]
    if isinstance(value, Struct):
        parts = [getattr(value, name) for name in value.__struct_fields__]
    elif isinstance(value, tuple | list | set | frozenset):
        parts = value
    elif isinstance(value, Mapping):  # an abstract class is the slowest to ask
        parts = [*value.keys(), *value.values()]
    else:
        return sys.getsizeof(value)
    total = _OBJECT_BYTES + 8 * len(parts)
    if set(map(type, parts)) <= _PLAIN:  # a million names at once
        return total + sum(map(sys.getsizeof, parts))
    for part in parts:  # most are arrays: a call for each takes as long as the rest
        is_array = type(part) is np.ndarray
        total += part.nbytes + _OBJECT_BYTES if is_array else size_bytes(part)
    return total
