"""A clock that tests advance by hand, for what takes ``clock`` and ``wait`` in its constructor."""

from __future__ import annotations

import threading
import time

_LOOK_S = 0.005


class FakeClock:
    """Seconds that pass only when ``advance`` is called.

    ``now`` replaces ``time.monotonic``, and ``wait`` replaces ``threading.Event.wait``.
    """

    def __init__(self, start_s: float = 1000.0) -> None:
        self._now_s = start_s
        self._changed = threading.Condition()
        self._waits: set[float] = set()

    def now(self) -> float:
        """Return the time in seconds."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Let time pass; every wait that ends in it returns."""
        with self._changed:
            self._now_s += seconds
            self._waits = {end_s for end_s in self._waits if end_s > self._now_s}
            self._changed.notify_all()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Return True once the event is set, or False after so many seconds of this clock."""
        with self._changed:
            end_s = self._now_s + seconds
            self._waits.add(end_s)
            self._changed.notify_all()
            while not event.is_set() and self._now_s < end_s:
                # An event that is set notifies nobody here.
                self._changed.wait(_LOOK_S)
            self._waits.discard(end_s)
        return event.is_set()

    def until_someone_waits(self, deadline_s: float = 20.0) -> float:
        """Return how many seconds of this clock the next wait has left, once there is one."""
        end_s = time.monotonic() + deadline_s
        with self._changed:
            while not self._waits:
                assert time.monotonic() < end_s, "nobody waits"
                self._changed.wait(_LOOK_S)
            return min(self._waits) - self._now_s
