"""The basis of an inferred timeline: the kind of its elapsed times, and the device's constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

Kind = Literal["none", "event", "kernel_sum", "host", "coarse", "unit"]
"""The kinds of elapsed device times (docs/internals/inference.md, section 1)."""

Name = Literal[
    "kernel_gap", "jitter", "launch_latency", "sync_return", "event_cost", "elapsed_resolution"
]
"""The constants (docs/internals/inference.md)."""

Source = Literal["capture", "trace", "assumed"]
"""Measured by the capture; estimated from the trace; a default."""


class Constant(Struct, frozen=True):
    """A constant of the device that the inference uses, in ns, and its source."""

    name: Name
    value_ns: int
    least_ns: int | None
    most_ns: int | None
    """The limits of the true value; null where only the value counts."""
    source: Source
    samples: int | None
    """The number of values that the estimate is from; null where it is assumed."""
    evidence: str

    @property
    def width_ns(self) -> int:
        """The farthest that the true value may be; 0 without limits."""
        ends = (self.least_ns, self.most_ns)
        return max((abs(end - self.value_ns) for end in ends if end is not None), default=0)


class InferenceBasis(Struct, frozen=True):
    """The evidence for a timeline that was inferred, or refused."""

    kind: Kind
    evidence: str
    constants: tuple[Constant, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    """Counts of the solution: ``marks``, ``anchors``, ``refuted_anchors``, ``late_stamps``,
    ``crossing``, ``claims`` and ``dropped_claims`` (that nothing was launched, and those that
    contradicted others), ``shapes`` (operators with recorded input shapes), ``elsewhere``
    (kernels whose durations come from other recordings of the run), ``self_test`` and
    ``self_test_held`` (bounds that the host could judge, and those that held)."""
    others: tuple[str, ...] = ()
    """The trace files of those other recordings."""
    dropped: tuple[int, ...] = ()
    """The operators (rows of ``Ops``) at which a claim contradicted others and was dropped."""
