"""What is doubtful about the data: the one form in which every stage says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["error", "warning", "info"]
"""``error``: a figure is wrong, or all of a kind are missing; ``warning``: some of a figure is
missing or doubtful; ``info``: no figure is wrong, but its reader should know."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)

Figures = Literal["totals", "steps", "operators", "kernels", "memory", "stacks"]
"""Which figures a finding is about: the device's totals, steps, operators, device activities one
by one, memory, Python frames and modules."""

ALL: tuple[Figures, ...] = get_args(Figures)
HOST: tuple[Figures, ...] = ("steps", "operators", "stacks")
DEVICE: tuple[Figures, ...] = ("totals", "steps", "operators", "kernels")

TableName = Literal["ops", "frames", "launches", "kernels", "memory"]
"""The tables of a Trace whose rows are events."""


@dataclass(frozen=True)
class Example:
    """One of the events that a finding is about: a row of a table."""

    table: TableName
    row: int
    name: str
    thread: str
    """The host thread, or the stream of a device activity."""
    start_ns: int
    note: str | None = None
    """What is odd about it."""


@dataclass(frozen=True)
class Finding:
    """Something about the data that its reader must know: a repair, a doubt, a lack."""

    code: str
    message: str
    hint: str | None = None
    count: int | None = None
    severity: Severity = "warning"
    affects: tuple[Figures, ...] = ()
    examples: tuple[Example, ...] = ()
