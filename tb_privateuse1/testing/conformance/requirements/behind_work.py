"""Times of a device that is behind the host: shared by the lines on costs of events and gaps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from torch.autograd.profiler import record_function

from tb_privateuse1.testing.conformance.subject import Subject

_TRIES, _ENOUGH = 10, 2
_BACKLOGS = 3
_RANGES = 24
_RANGE = "tb_privateuse1::behind"


class Behind(NamedTuple):
    """The time that a range took of the device behind long work, and the ranges inside of it."""

    elapsed_ns: int
    inside: int

    @property
    def marks(self) -> int:
        """Return how many events lie between the two of the range, with its last one."""
        return 2 * self.inside + 1


def behind_work(subject: Subject, work: Callable[[], object]) -> Behind | None:
    """Return the least that ``work`` takes of the device behind long work.

    None if the device has done the long work before all of ``work`` is launched, or has no times.
    """

    def recorded() -> None:
        subject.launch(_BACKLOGS * subject.backlog)
        with record_function(_RANGE):
            work()

    found: list[Behind] = []
    for _ in range(_TRIES):
        if len(found) >= _ENOUGH:
            break
        rows = subject.rows(recorded)
        outer = next((row for row in rows if row.name == _RANGE), None)
        if outer is None or outer.elapsed is None or outer.elapsed < 0:
            return None
        launched = min(row.start_ns for row in rows)
        if outer.end_ns - launched < _BACKLOGS * subject.backlog_ns // 2:
            inside = sum(outer.start_ns <= row.start_ns < outer.end_ns for row in rows) - 1
            found.append(Behind(outer.elapsed * 1000, inside))
    return min(found, default=None)


@functools.cache
def event_ns(subject: Subject) -> int | None:
    """Return the time that an event takes of the device, in ns, if it is known."""
    known = subject.calibration.costs.mark_ns
    if known is not None:
        return known

    def empty_ranges() -> None:
        for _ in range(_RANGES):
            with record_function("tb_privateuse1::empty"):
                pass

    found = behind_work(subject, empty_ranges)
    return None if found is None else found.elapsed_ns // found.marks
