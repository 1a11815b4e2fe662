"""Keep the device busy while a step is recorded, so that its kernels' durations show.

Where the device waits for the host, the time between an operator's events is the host's, and its
kernel's duration hides in it. Behind a long kernel that was launched first, the step's own kernels
queue, and the same events enclose nothing but them. What that changes: the step's kernels start
later than they would have, the device has more to do, and the host waits for it at the step's end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.profiler import record_function

from tb_privateuse1.capture import backend
from tb_privateuse1.capture.warnings import Notes

PRIME = "tb_privateuse1::prime"
"""The annotation around the long kernel; what runs inside is no work of the user's."""
PRIMED = "tb_privateuse1::primed"
"""The annotation around the wait at a primed step's end, so that the next one is not behind."""

SIZES = (256, 512, 1024, 2048)
"""Of the square matrices; the first whose product takes long enough, at most 48 MiB for three."""
LONG_NS = 1_000_000
"""One product, so that launching it takes the host little of the time that it takes the device."""
MOST_PRODUCTS = 1_000
UNKNOWN_MS, LEAST_MS, MOST_MS = 50.0, 2.0, 2_000.0
SHARE = 2.0
"""How many times the last step the device is kept busy: a recorded one takes the host longer."""


@dataclass
class Primer:
    """Primes the first recorded step of each cycle, or whenever it is asked to."""

    device: str
    notes: Notes
    _operands: tuple[Any, Any, Any] | None = None
    _product_ns: int = 0
    _stepped_ns: int | None = None
    _step_ns: int | None = None
    busy: bool = False
    """Whether the device was kept busy in this step."""

    def __post_init__(self) -> None:
        self.done: list[dict[str, Any]] = []

    def prepare(self) -> None:
        """Make the operands and time their product; before anything is recorded."""
        self.done = []
        try:
            for size in SIZES:
                a = torch.zeros(size, size, device=self.device)
                self._operands = (a, torch.zeros_like(a), torch.zeros_like(a))
                self._product_ns = min(self._timed() for _ in range(3))
                if self._product_ns >= LONG_NS:
                    break
        except Exception as error:
            self._failed(error)

    def stepped(self) -> None:
        """Note how long the step that just ended took on the host."""
        now = time.perf_counter_ns()
        if self._stepped_ns is not None:
            self._step_ns = now - self._stepped_ns
        self._stepped_ns = now

    def prime(self, step: str | None, ms: float | None) -> None:
        """Launch work of about ``ms``, of twice the last step if None; ``step`` is its name."""
        if self._operands is None:
            return
        if ms is None:
            known = None if self._step_ns is None else self._step_ns * SHARE / 1e6
            ms = UNKNOWN_MS if known is None else min(max(known, LEAST_MS), MOST_MS)
        count = min(max(round(ms * 1e6 / max(self._product_ns, 1)), 1), MOST_PRODUCTS)
        a, b, out = self._operands
        try:
            with record_function(PRIME), torch.no_grad():
                for _ in range(count):
                    torch.mm(a, b, out=out)
        except Exception as error:
            self._failed(error)
            return
        self.busy = True
        self.done.append({"step": step, "ms": round(ms, 3)})

    def finish(self) -> None:
        """Let the device catch up before the next step, if it was kept busy in this one."""
        if not self.busy:
            return
        self.busy = False
        with record_function(PRIMED):
            try:
                backend.synchronize()
            except Exception as error:
                self.notes.add("no-synchronize", f"waiting for a primed step failed: {error}")

    def release(self) -> None:
        """Let go of the operands; after the recording, which would show it."""
        self._operands, self.busy = None, False

    def _timed(self) -> int:
        assert self._operands is not None
        a, b, out = self._operands
        backend.synchronize()
        before = time.perf_counter_ns()
        with torch.no_grad():
            torch.mm(a, b, out=out)
            out[0, 0].item()  # waits, even where synchronize does not: else it primes for minutes
        return time.perf_counter_ns() - before

    def _failed(self, error: Exception) -> None:
        self._operands = None
        self.notes.add(
            "prime-failed",
            f"the device could not be kept busy, durations will be less well known: "
            f"{type(error).__name__}: {error}",
        )
