"""Measure how much of the operators' device time has a model, and name the rest."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.work.collectives import payload_bytes
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.trace.groupby import distinct_values, sums
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, Trace


class UnknownName(Struct, frozen=True):
    """An operator without known work, and the time of its device activities."""

    name: str
    device_ns: int


class Coverage(Struct, frozen=True):
    """Device time of operators: in all, and with known work."""

    device_ns: int
    known_ns: int
    unknown: tuple[UnknownName, ...]
    """Operators without known work, by time."""
    unlinked_ns: int
    """Time of activities without an operator, such as replays of graphs; it is in no other sum."""

    @property
    def share(self) -> float | None:
        """Return the share of operator device time with known work; None without any."""
        return self.known_ns / self.device_ns if self.device_ns else None


@memoize
def coverage(trace: Trace) -> Coverage:
    """Return the share of operator device time with a model, and the names without."""
    kernels, ops = trace.kernels, trace.ops
    duration = kernels.end_ns - kernels.start_ns
    linked = kernels.op >= 0
    known = linked & ((kernel_work(trace).op >= 0) | (payload_bytes(trace) != MISSING))
    lacking = linked & ~known
    name = ops.name[kernels.op[lacking]]
    total = sums(name, duration[lacking], len(trace.strings))
    names = distinct_values(name)
    order = names[np.argsort(-total[names], kind="stable")]
    return Coverage(
        device_ns=int(duration[linked].sum()),
        known_ns=int(duration[known].sum()),
        unknown=tuple(UnknownName(trace.text(n), int(total[n])) for n in order),
        unlinked_ns=int(duration[~linked].sum()),
    )
