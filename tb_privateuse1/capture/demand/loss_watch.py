"""Detect a loss that is no longer finite, without waiting for the device where possible."""

from __future__ import annotations

import math
from typing import Any

import torch

from tb_privateuse1.capture.warnings import Notes


class LossWatch:
    """The losses of a job's steps.

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
