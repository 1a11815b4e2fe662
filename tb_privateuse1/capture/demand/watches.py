"""Watch a job's steps: for a loss that is no longer finite, and for slow ones."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import torch

from tb_privateuse1.capture.warnings import Notes

_HISTORY, _FEWEST = 256, 64
_TIMES, _LEAST = 5, 1.2
_SAME = 1.25
"""Two slow steps whose durations are closer than this are of one kind, such as checkpoints."""
_RENEW = 16
"""Steps between two looks at the whole history, which take some microseconds."""


class LossWatch:
    """The losses of a job's steps, looked at without waiting for the device where possible.

    A number, or a tensor of the host, is looked at immediately. One of a device is copied to the
    host behind the work that computes it, and looked at in a later step, when an event says that
    it is there. A backend without pinned memory or events is waited for, one step later: then the
    host is never more than a step ahead of the device.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._is_finite = True
        self._off = False
        self._pending: tuple[int, torch.Tensor, Any] | None = None
        self._buffer: torch.Tensor | None = None

    def lost(self, step: int, loss: Any) -> int | None:
        """Take the loss of a step; return the step whose loss was the first not to be finite.

        That is this step or one before it, and None while nothing changes.
        """
        if self._off:
            return None
        try:
            return self._look(step, loss)
        except Exception as error:
            self._off = True
            self._pending = self._buffer = None
            self._notes.add(
                "loss-unread",
                f"the loss is not watched, reading it failed: {type(error).__name__}: {error}",
            )
            return None

    def _look(self, step: int, loss: Any) -> int | None:
        lost = self._look_at_pending()
        if loss is None:
            return lost
        if not isinstance(loss, torch.Tensor):
            return self._change(step, float(loss)) or lost
        if loss.device.type == "cpu":
            return self._change(step, float(loss.detach())) or lost
        if self._pending is None:
            self._pending = (step, *self._send(loss.detach().reshape(())))
        return lost

    def _look_at_pending(self) -> int | None:
        if self._pending is None:
            return None
        step, value, event = self._pending
        if event is not None and not event.query():
            return None
        self._pending = None
        return self._change(step, float(value))

    def _change(self, step: int, value: float) -> int | None:
        was, self._is_finite = self._is_finite, math.isfinite(value)
        return step if was and not self._is_finite else None

    def _send(self, value: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """Start a copy to the host; return its target and the event behind it, or the value."""
        event = _event(value.device.type) if self._has_buffer(value.dtype) else None
        if event is None or self._buffer is None:
            return value, None
        self._buffer.copy_(value, non_blocking=True)
        event.record()
        return self._buffer, event

    def _has_buffer(self, dtype: torch.dtype) -> bool:
        if self._buffer is None or self._buffer.dtype != dtype:
            try:
                self._buffer = torch.empty((), dtype=dtype, pin_memory=True)
            except RuntimeError:  # the backend pins no memory
                self._buffer = torch.empty((), dtype=dtype)
        return self._buffer.is_pinned()


def _event(backend: str) -> Any:
    try:
        return torch.Event(device=backend)
    except Exception:  # an older torch, or a guard that makes no events
        kind = getattr(getattr(torch, backend, None), "Event", None)
        return None if kind is None else kind()


class SlowSteps:
    """The durations of the last steps, and which of them were slow.

    A slow one is longer than the spread of those before it explains. Two conditions must both hold,
    so that no form of the distribution has to be assumed:

    * The step is longer than each of the last 256. For steps in random order, whatever their
      distribution, that happens once in 257.
    * It exceeds their median by more than five times what their 95th percentile does, and by a
      fifth. An exponential tail reaches that once in 60,000 steps, a normal one never.

    ``docs/guide/on-demand.md`` has the rates of false alarms for other distributions.
    """

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
