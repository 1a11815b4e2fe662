"""What an inferred timeline rests on: the kind of its elapsed times, its constants, its anchors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["none", "event", "kernel_sum", "host", "coarse", "unit"]
"""What elapsed device times may be (docs/internals/inference.md, section 1)."""

Name = Literal[
    "kernel_gap", "jitter", "launch_latency", "sync_return", "event_cost", "elapsed_resolution"
]
"""The constants (docs/internals/inference.md)."""

Source = Literal["capture", "trace", "assumed"]
"""Measured while the run was recorded; found in the trace itself; taken for granted."""


@dataclass(frozen=True)
class Constant:
    """A constant of the device that the inference went by, in ns, and how it is known."""

    name: Name
    value_ns: int
    least_ns: int | None
    most_ns: int | None
    """What the truth is taken to lie between; null where only the value counts."""
    source: Source
    samples: int | None
    """How many single values it was found from; null where it was assumed."""
    evidence: str


@dataclass(frozen=True)
class InferenceBasis:
    """What was found out before, and while, a timeline was inferred or refused."""

    kind: Kind
    evidence: str
    constants: tuple[Constant, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    """Of the solution: ``marks``, ``anchors``, ``refuted_anchors``, ``late_stamps``, ``crossing``,
    ``shapes``: operators whose input shapes were recorded, and ``elsewhere``: kernels whose
    durations other recordings of the run told."""
    others: tuple[str, ...] = ()
    """The trace files of those recordings."""
