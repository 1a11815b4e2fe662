"""Check for impossible times: before their cause, days away, overlapping on one stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.i18n import say
from tb_privateuse1.inference.quality.check_subject import (
    MOST_EXAMPLES,
    Subject,
    examples,
    microseconds,
)
from tb_privateuse1.inference.validity.device_clock import LATE_NS
from tb_privateuse1.inference.validity.far_times import DAY_NS
from tb_privateuse1.trace.columns import previous, starts_run
from tb_privateuse1.trace.findings import ALL, DEVICE, Finding, TableName
from tb_privateuse1.trace.model import MEASURED, Kernels, Trace
from tb_privateuse1.trace.table import I64, Bools

_CLOCK_NS = 1000
"""Device profilers put their clock on the host's with about this precision."""
_THROUGHOUT = 0.5
"""If this share of activities comes before their launch, the clocks differ."""
_TABLES: tuple[TableName, ...] = ("ops", "frames", "launches", "kernels")
_NAMES = {
    "ops": say("ops"),
    "frames": say("frames"),
    "launches": say("launches"),
    "kernels": say("kernels"),
}
_PARTS = 4
"""Parts of the recording whose least delays show a drift: in one direction by chance in 2 of the 4!
orders, 8 %."""


def check(subject: Subject) -> Iterator[Finding]:
    """Yield findings about clocks and overlapping activities of a lane."""
    trace = subject.trace
    far = list(_far(trace))
    yield from far
    if not far:
        yield from _outside(trace)
    yield from _too_early(trace, max(_CLOCK_NS, subject.tolerance_ns))
    yield from _overlapping(trace, subject.tolerance_ns)


def _far(trace: Trace) -> Iterator[Finding]:
    """Yield findings about events more than a day from the median: no recording is that long."""
    starts = [getattr(trace, table).start_ns for table in _TABLES]
    ends = [getattr(trace, table).end_ns for table in _TABLES]
    if trace.end_ns <= DAY_NS:
        return
    middle = int(np.median(np.concatenate(starts)))
    for table, start, end in zip(_TABLES, starts, ends, strict=True):
        rows = np.flatnonzero((abs(start - middle) > DAY_NS) | (end - start > DAY_NS))
        if len(rows):
            message = say(
                "{count:,} {table} are more than a day away from the others.",
                count=len(rows),
                table=_NAMES[table],
            )
            hint = say("A clock was wrong. The recording's length and all that is idle are, too.")
            notes = [
                say("{time} away", time=microseconds(abs(int(start[r]) - middle)))
                for r in rows[:MOST_EXAMPLES].tolist()
            ]
            yield Finding(
                "far_events", message, hint, len(rows), "error", ALL,
                examples(trace, table, rows, notes),
            )  # fmt: skip


def _outside(trace: Trace) -> Iterator[Finding]:
    """Yield a finding about activities far from all host events.

    A device may be behind the host, and busy when the recording begins: by less than the
    recording is long, or by less than a second.
    """
    kernels = trace.kernels
    host = [t for t in (trace.ops, trace.frames, trace.launches) if len(t)]
    if not host or not len(kernels) or (kernels.evidence != MEASURED).any():
        return
    first = min(int(t.start_ns.min()) for t in host)
    last = max(int(t.end_ns.max()) for t in host)
    slack = max(last - first, LATE_NS)
    rows = np.flatnonzero((kernels.end_ns < first - slack) | (kernels.start_ns > last + slack))
    if len(rows):
        message = say(
            "{count:,} of {total:,} device activities lie far outside of what the host recorded.",
            count=len(rows),
            total=len(kernels),
        )
        hint = say(
            "The device's clock is not the host's: idle time and steps are not to be trusted."
        )
        yield Finding(
            "activities_outside", message, hint, len(rows), "error", DEVICE,
            examples(trace, "kernels", rows),
        )  # fmt: skip


def _too_early(trace: Trace, tolerance_ns: int) -> Iterator[Finding]:
    kernels, launches = trace.kernels, trace.launches
    linked = np.flatnonzero((kernels.launch >= 0) & (kernels.evidence == MEASURED))
    if not len(linked):
        return
    delay = kernels.start_ns[linked] - launches.start_ns[kernels.launch[linked]]
    early = delay < -tolerance_ns
    count = int(early.sum())
    if not count:
        return
    worst = linked[np.argsort(delay, kind="stable")[: min(count, MOST_EXAMPLES)]]
    message = say(
        "{count:,} of {total:,} device activities start before the call that launched "
        "them, by up to {time}: so far, at least, the device's clock is behind the "
        "host's.{drift}",
        count=count,
        total=len(linked),
        time=microseconds(-int(delay.min())),
        drift=_drift(delay, tolerance_ns),
    )
    hint = say("Lengths on the device are not affected; idle time and what a step waits for are.")
    notes = [
        say("{time} before its call", time=microseconds(-int(d)))
        for d in np.sort(delay)[: len(worst)]
    ]
    yield Finding(
        "clock_behind", message, hint, count,
        "error" if count > _THROUGHOUT * len(linked) else "warning",
        ("totals", "steps"), examples(trace, "kernels", worst, notes),
    )  # fmt: skip


def _drift(delay: I64, tolerance_ns: int) -> str:
    """Return how the least delay changes over the recording, if in one direction.

    The least delay of a part is that of a launch to an idle device: its change is the clocks'.
    ``delay`` is in the order of the device's time.
    """
    least = [int(part.min()) for part in np.array_split(delay, _PARTS) if len(part)]
    steps = np.diff(least)
    change = least[-1] - least[0]
    if (
        len(least) < _PARTS
        or abs(change) <= tolerance_ns
        or not ((steps <= 0).all() or (steps >= 0).all())
    ):
        return ""
    return say(" It changes by about {time} over the recording.", time=microseconds(abs(change)))


def _overlapping(trace: Trace, tolerance_ns: int) -> Iterator[Finding]:
    kernels = trace.kernels
    if not len(kernels) or (kernels.evidence != MEASURED).any():
        return
    rows = np.flatnonzero(_before_the_end(kernels, tolerance_ns))
    if len(rows):
        lanes = len(np.unique(kernels.lane[rows]))
        message = say(
            "{count:,} of {total:,} device activities start before the one before them on "
            "their stream has ended, on {lanes} of {streams} streams.",
            count=len(rows),
            total=len(kernels),
            lanes=lanes,
            streams=len(trace.lanes),
        )
        hint = say(
            "Some devices do start a kernel while the one before runs out (programmatic "
            "launch), or report several queues as one stream. Busy time counts each instant "
            "once, the kernels' sum as often as it is told."
        )
        yield Finding(
            "overlapping_activities", message, hint, len(rows), "info", ("kernels",),
            examples(trace, "kernels", rows),
        )  # fmt: skip


def _before_the_end(kernels: Kernels, tolerance_ns: int) -> Bools:
    order = np.argsort(kernels.lane, kind="stable")  # within a lane they are by start
    lane, start, end = kernels.lane[order], kernels.start_ns[order], kernels.end_ns[order]
    length = int(end.max()) - int(start.min()) + 1
    found = np.zeros(len(kernels), np.bool_)
    if length > np.iinfo(np.int64).max // (2 * (int(lane[-1]) + 2)):
        return found  # times of centuries: ``far_events`` says so
    lift = lane.astype(np.int64) * length
    reach = np.maximum.accumulate(end + lift)
    before = previous(reach, start[0]) - lift
    found[order] = ~starts_run(lane) & (start < before - tolerance_ns)
    return found
