"""Find a step that is slower than the spread of the steps before it explains.

Two conditions must both hold, so that no form of the distribution has to be assumed:

* The step is longer than each of the last 256. For steps in random order, whatever their
  distribution, that happens once in 257.
* It exceeds their median by more than five times what their 95th percentile does, and by a fifth.
  An exponential tail reaches that once in 60,000 steps, a normal one never.

``docs/guide/on-demand.md`` has the rates of false alarms for other distributions.
"""

from __future__ import annotations

from collections import deque

_HISTORY, _FEWEST = 256, 64
_TIMES, _LEAST = 5, 1.2
_SAME = 1.25
"""Two slow steps whose durations are closer than this are of one kind, such as checkpoints."""
_RENEW = 16
"""Steps between two looks at the whole history, which take some microseconds."""


class SlowSteps:
    """The durations of the last steps, and which of them were slow."""

    def __init__(self) -> None:
        self.usual_ns = 0
        """The median of the last steps."""
        self._last: deque[int] = deque(maxlen=_HISTORY)
        self._known: list[int] = []
        self._limit: float | None = None
        self._until_renewal = _FEWEST

    def is_slow(self, duration_ns: int) -> bool:
        """Add a step; return whether it is slow in a way that no slow step before it was."""
        limit = self._limit
        slow = limit is not None and duration_ns > limit
        self._last.append(duration_ns)
        self._until_renewal -= 1
        if slow or self._until_renewal <= 0:
            self._renew()
        if not slow or any(1 / _SAME < duration_ns / one < _SAME for one in self._known):
            return False
        self._known.append(duration_ns)
        return True

    def _renew(self) -> None:
        self._until_renewal = _RENEW
        if len(self._last) < _FEWEST:
            return
        ordered = sorted(self._last)
        self.usual_ns = median = ordered[len(ordered) // 2]
        high = ordered[len(ordered) * 95 // 100]
        self._limit = max(ordered[-1], median + _TIMES * (high - median), median * _LEAST)
