"""Rows of a Kineto profiler of a few operators: shared by the lines on the native route."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch.autograd.profiler import profile as autograd_profile

from tb_privateuse1.capture.result_rows import duration_ns, is_operator, start_ns
from tb_privateuse1.testing.conformance.subject import Subject

OPERATORS = 8


@dataclass(frozen=True)
class Recorded:
    """Rows of torch's results: the device's, the runtime's, and the operators that were run."""

    device: list[Any]
    runtime: list[Any]
    operators: list[Any]
    began_ns: int
    ended_ns: int


@functools.cache
def recorded(subject: Subject) -> Recorded:
    """Return one recording for all lines that need no more. Raises what torch raises."""
    return record(subject)


def record(subject: Subject, work: Callable[[], object] | None = None) -> Recorded:
    """Return what torch's own profiler records of ``work``, or of some long operators.

    Raises what torch and ``work`` raise.
    """
    subject.read_back()
    with autograd_profile(use_device=subject.name, use_kineto=True) as probe:
        began = time.time_ns()
        subject.launch(OPERATORS) if work is None else work()
        subject.read_back()
        ended = time.time_ns()
    rows = [row for row in probe.kineto_results.events() if not row.name().startswith("[")]
    device = [row for row in rows if row.device_type().name != "CPU" and duration_ns(row) > 0]
    runtime = [row for row in rows if "runtime" in _kind(row) or "driver" in _kind(row)]
    operators = [row for row in rows if is_operator(row) and row.name() == "aten::mul_"]
    return Recorded(device, runtime, operators, began, ended)


def kernels_of_operators(found: Recorded) -> list[Any]:
    """Return the device's longest rows, as many as there were operators: others are small."""
    return sorted(found.device, key=duration_ns)[-OPERATORS:]


def is_within(row: Any, began_ns: int, ended_ns: int, room_ns: int) -> bool:
    """Return whether a row lies between two times of the host's clock."""
    start = start_ns(row)
    return began_ns - room_ns <= start and start + duration_ns(row) <= ended_ns + room_ns


def _kind(row: Any) -> str:
    return str(row.activity_type()) if hasattr(row, "activity_type") else ""
