"""Types that the stages of the timeline share: event pairs, bounds, calibration, work.

An *event* is one of the two that the profiler records around an operator. They are in the order in
which the host recorded them, which is the order of a single stream. A *segment* ``p`` lies
between the events ``p - 1`` and ``p``. Times are int64 ns. The package's docstring has a glossary.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.inference_basis import Constant, InferenceBasis
from tb_privateuse1.trace.table import I8, I32, I64, Bools

NEVER, ANY = int(np.iinfo(np.int64).min), 1 << 62
"""An earliest and a latest time that bound nothing."""

TORCH_RESOLUTION_NS = 1_000
"""torch truncates elapsed times to microseconds."""
CLOCK_NS = 1_000
"""How far a backend's time of a launch may be from the profiler's clock."""

RETURN_NS = 4_000
"""From the end of the work to the return of a call that waits for it."""

LATE_RETURN_NS = 150_000
"""The same on a busy host: half of what follows its last event in most waits of over 1 ms."""

MOST_DRIFT = 500e-6
"""The largest relative difference of two clocks. Crystal oscillators are within 100 ppm; clocks of
devices that are multiplied from another one, or drift with temperature, are further off."""

EVENT_DOUBT_NS = 15
"""How far the mean cost of an event may be from that of a device, where nothing shows it."""


class Calibration(Struct, frozen=True):
    """The constants of the device, and how far the truth may lie from them, in ns."""

    latency_ns: int
    """From the host's call to its effect on an idle device."""
    latency_bound_ns: int
    """How far all starts may be off together."""
    latency_measured: bool
    jitter_ns: int
    """How much later than the latency an idle device may execute an event."""
    event_ns: int
    event_high_ns: int
    """Likely and largest time that one event takes on a busy device."""
    gap_ns: int
    gap_high_ns: int
    """Likely and largest time from one kernel or event to the next kernel on a busy device."""
    resolution_ns: int
    rounding: str
    """``floor``, ``round`` or ``both`` (either event is truncated before the difference)."""
    drift: float = MOST_DRIFT
    """Largest relative difference of the device's clock from the host's."""
    event_low_ns: int = 0
    event_doubt_ns: int = EVENT_DOUBT_NS
    """How far the mean cost of an event may be from ``event_ns``."""
    cut_ns: int = 500
    """What is cut from an elapsed time, on average."""
    constants: tuple[Constant, ...] = ()
    """The same values as pages show them, with their evidence."""
    slower: Calibration | None = None
    """The constants with the largest cost of an event that the trace allows, if it is assumed."""


class EventPairs(Struct, frozen=True):
    """The 2 n events of a stream in order, and the positions of each operator's two.

    Per event: ``op``, its operator (row of ``Ops``). ``host_ns``, ``host_low_ns`` and
    ``host_high_ns`` are the likely, earliest and latest time of its record; ``host_floor_ns`` is
    the earliest one if its thread was preempted. ``next`` is the next event of the same thread
    (itself at the end), ``innermost`` the thread's innermost open operator after the event, or
    ``NONE``. Per operator: ``start`` and ``end``, the positions of its events.
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


class Bounds(Struct, frozen=True):
    """Earliest and latest device time of every event, and the estimate between them."""

    low: I64
    high: I64
    likely: I64


class TypicalDurations(Struct, frozen=True):
    """The length to expect of each kernel, in ns; -1 if no instance shows it.

    ``low`` and ``high`` are limits from the same operator on the same shapes. ``own``: so is the
    length, which is that of other shapes otherwise.
    """

    length: I64
    low: I64
    high: I64
    own: Bools

    def head(self, count: int) -> Self:
        """Return those of the first ``count`` kernels."""
        some = {name: getattr(self, name)[:count] for name in self.__struct_fields__}
        return replace(self, **some)


class StreamKernels(Struct, frozen=True):
    """The kernels of one stream in order; ``row`` is the operator of each, or ``NONE``.

    ``guessed``: nothing of equal work shows the duration.
    """

    row: I64
    start_ns: I64
    duration_ns: I64
    start_bound_ns: I64
    duration_bound_ns: I64
    evidence: I8
    activity: I8
    guessed: Bools
    shift_bound_ns: int = 0
    """The part of ``start_bound_ns`` that all starts share."""
    findings: tuple[Finding, ...] = ()
    basis: InferenceBasis | None = None
    unseen_ns: int = 0
    """How long events waited for work that nobody is known to have launched."""
    unseen_waits: int = 0
    """How often they surely did so, at places of the program that do not launch it themselves."""

    def __len__(self) -> int:
        return len(self.row)

    @classmethod
    def none(cls, finding: Finding | None, basis: InferenceBasis) -> Self:
        """Return no work; ``finding`` is the reason."""
        times, few, none = np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.bool_)
        findings = () if finding is None else (finding,)
        return cls(times, times, times, times, times, few, few, none, 0, findings, basis)

    def take(self, rows: Bools | I64) -> Self:
        """Return the kernels of some rows."""
        some = {name: getattr(self, name)[rows] for name in _COLUMNS}
        return replace(self, **some)

    def join(self, other: Self) -> Self:
        """Return the kernels of both by start, with the findings and the basis of this one."""
        both: dict[str, Any] = {
            name: np.concatenate((getattr(self, name), getattr(other, name))) for name in _COLUMNS
        }
        order = np.argsort(both["start_ns"], kind="stable")
        return replace(self, **both).take(order)


_COLUMNS = (
    "row",
    "start_ns",
    "duration_ns",
    "start_bound_ns",
    "duration_bound_ns",
    "evidence",
    "activity",
    "guessed",
)
"""The columns of ``StreamKernels``."""
