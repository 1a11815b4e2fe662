"""Findings: doubts about the data of a trace, in one form for all stages."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

Severity = Literal["error", "warning", "info"]
"""``error``: a figure is wrong, or all of a kind are missing; ``warning``: a part of a figure is
missing or doubtful; ``info``: no figure is wrong, but readers should know."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)

Figures = Literal["totals", "steps", "operators", "kernels", "memory", "stacks"]
"""The figures that a finding affects: the device's totals, steps, operators, single device
activities, memory, Python frames and modules."""

ALL: tuple[Figures, ...] = get_args(Figures)
DEVICE: tuple[Figures, ...] = ("totals", "steps", "operators", "kernels")

PARTIAL = ("snapshot_alone", "memory_timeline_alone", "flight_recorder_alone")
"""Codes of recordings that have no device activities by their nature, whatever the capture."""

LONGEST_NAME = 200
"""Characters of a name in a row of its own. All 7,844 names of operators in the shared recordings
fit; of the 2,704 of kernels 29 % are cut: C++ templates have thousands of characters."""
LONGEST_INLINE = 80
"""Characters of a name, or of shapes, inside a sentence: 99.6 % of the operators' names fit."""

TableName = Literal["ops", "frames", "launches", "kernels", "memory", "device_annotations"]
"""The tables of a Trace whose rows are events."""


class Example(Struct, frozen=True):
    """An event that a finding is about: a row of a table."""

    table: TableName
    row: int
    name: str
    thread: str
    """The host thread, or the stream of a device activity."""
    start_ns: int
    note: str | None = None
    """Why this event is odd."""


class Finding(Struct, frozen=True):
    """A repair, a doubt or a gap of the data that readers of its figures must know."""

    code: str
    message: str
    hint: str | None = None
    count: int | None = None
    severity: Severity = "warning"
    affects: tuple[Figures, ...] = ()
    examples: tuple[Example, ...] = ()
