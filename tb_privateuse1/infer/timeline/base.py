"""What the stages of the timeline hand to each other: marks, their tree, bounds, calibration.

A *mark* is one of the two events that the profiler records around an operator, in the order in
which the host recorded them, which is the order of a single stream. A *segment* ``p`` lies
between the marks ``p - 1`` and ``p``. Times are int64 ns.
"""

from __future__ import annotations

from dataclasses import dataclass

from tb_privateuse1.grounds import Constant
from tb_privateuse1.trace import I32, I64, Bools

RETURN_NS = 4_000
"""From the end of the work to the return of a call that waits for it."""


@dataclass(frozen=True)
class Calibration:
    """The constants of the device, and how far the truth may lie from them, in ns."""

    latency_ns: int
    """From the host's call to its effect on an idle device."""
    latency_bound_ns: int
    latency_measured: bool
    jitter_ns: int
    """How much later than the latency an idle device may execute a mark."""
    event_ns: int
    event_high_ns: int
    """Likely and largest time that one mark takes on a busy device; the least is 0."""
    gap_ns: int
    gap_high_ns: int
    """Likely and largest time from one kernel or mark to the next kernel on a busy device."""
    resolution_ns: int
    rounding: str
    """``floor``, ``round`` or ``both`` (either event is truncated before the difference)."""
    drift: float = 5e-5
    """Largest relative difference of the device's clock from the host's."""
    event_low_ns: int = 0
    constants: tuple[Constant, ...] = ()
    """The same as they are shown, with their evidence."""


@dataclass(frozen=True)
class Marks:
    """All marks in order, and per operator (row of ``Ops``) where its two marks are.

    ``host_ns`` is when the mark was likely recorded, ``host_low_ns`` and ``host_high_ns`` when at
    the earliest and latest, ``host_floor_ns`` when even if its thread was preempted. ``next`` is
    the next mark of the same thread (itself at the end), ``innermost`` the thread's innermost open
    operator after the mark, ``NONE`` outside all.
    """

    op: I32
    is_end: Bools
    host_ns: I64
    host_low_ns: I64
    host_high_ns: I64
    host_floor_ns: I64
    next: I64
    innermost: I32
    start: I64
    end: I64

    def __len__(self) -> int:
        return len(self.op)


@dataclass(frozen=True)
class Bounds:
    """Earliest and latest device time of every mark, and the likely one between them."""

    low: I64
    high: I64
    likely: I64


@dataclass(frozen=True)
class Usual:
    """What to expect of each kernel's length: -1 where the trace does not tell.

    ``low`` and ``high`` are limits from the same operator on the same shapes.
    """

    length: I64
    low: I64
    high: I64
