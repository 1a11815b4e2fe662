"""Keep the device busy while a step is recorded, so that its kernels' durations show.

Where the device waits for the host, the time between an operator's events is the host's, and its
kernel's duration hides in it. Behind a long kernel that was launched first, the step's own kernels
queue, and the same events enclose nothing but them. What that changes: the step's kernels start
later than they would have, the device has more to do, and the host waits for it at the step's end.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.profiler import record_function
from torch.overrides import TorchFunctionMode

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
AGAIN, MOST_AGAIN = SHARE / 8, 16
"""The same behind each wait in the step, and how often: at most four steps more."""
MOST_STEPS = 3
"""Steps that a recording primes by itself, one per cycle: three calls of a key show its length
(docs/internals/inference.md, section 11), and later cycles take it from these."""
READS = {"item", "tolist", "__bool__", "__int__", "__float__", "__index__"}
"""Functions that return a value from the device; copies between devices are known by these."""


@dataclass
class Primer:
    """Primes the first recorded step of each cycle, or whenever it is asked to."""

    device: str
    notes: Notes
    _operands: tuple[Any, Any, Any] | None = None
    _product_ns: int = 0
    _stepped_ns: int | None = None
    _step_ns: int | None = None
    _behind: Any = None
    _steps: int = 0
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

    def prime(self, step: str | None, ms: float | None, share: float = SHARE) -> None:
        """Launch work of about ``ms``, of a ``share`` of the last step if None, in ``step``."""
        if self._operands is None:
            return
        if ms is None:
            known = None if self._step_ns is None else self._step_ns * share / 1e6
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

    def prime_behind_waits(self, step: str | None) -> None:
        """Prime ``step``, and again when it has waited; not where functions are compiled.

        Those would be compiled again, as torch guards its modes. Behind ``MOST_STEPS`` nothing is
        primed any more.
        """
        if self._steps >= MOST_STEPS:
            return
        self.prime(step, None)
        self._steps += self.busy
        compiler: Any = sys.modules.get("torch._dynamo.utils")
        if self.busy and not (compiler and compiler.counters.get("frames")):
            self._behind = _BehindWaits(self, step)
            self._behind.__enter__()

    def finish(self) -> None:
        """Let the device catch up before the next step, if it was kept busy in this one."""
        if not self.busy:
            return
        self._leave()
        with record_function(PRIMED):
            try:
                backend.synchronize()
            except Exception as error:
                self.notes.add("no-synchronize", f"waiting for a primed step failed: {error}")

    def release(self) -> None:
        """Let go of the operands; after the recording, which would show it."""
        self._operands = None
        self._leave()

    def _leave(self) -> None:
        mode, self._behind, self.busy = self._behind, None, False
        if mode is not None:
            mode.left = 0
            overrides: Any = torch.overrides
            if overrides._get_current_function_mode() is mode:  # else one of the program's
                mode.__exit__(None, None, None)

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


class _BehindWaits(TorchFunctionMode):
    """Primes again when the program has waited for the device, which lets it catch up."""

    def __init__(self, primer: Primer, step: str | None) -> None:
        super().__init__()
        self.primer, self.step, self.left = primer, step, MOST_AGAIN

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        value = func(*args, **(kwargs or {}))
        if self.left and args and isinstance(args[0], torch.Tensor):
            here = args[0].device.type
            there = value.device.type if isinstance(value, torch.Tensor) else None
            reads = getattr(func, "__name__", "") in READS and here == self.primer.device
            if reads or (there not in (here, None) and self.primer.device in (here, there)):
                self.left -= 1
                self.primer.prime(self.step, None, AGAIN)
        return value
