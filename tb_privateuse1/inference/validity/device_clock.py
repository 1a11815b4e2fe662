"""Put a device's times on the host's clock if they are on another one.

No activity starts before the call that launched it. If most do, by far more than the precision with
which profilers join two clocks, or if all start later than the recording is long, the device has
another clock. Its times are shifted until the promptest activity starts with its call.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.inference.host_tables import Host
from tb_privateuse1.inference.quality.check_subject import microseconds
from tb_privateuse1.inference.stage_inputs import Activities
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.groupby import split_by_value
from tb_privateuse1.trace.model import MEASURED, Kernels
from tb_privateuse1.trace.table import I64

_APART_NS = 100_000
"""A hundred times the precision with which device profilers put their clock on the host's."""
LATE_NS = 10**9
"""The device of a server had 0.28 s of work in its queue, the most in the shared recordings."""


def align(activities: Activities, host: Host) -> Activities:
    """Return the activities with their devices' clocks on the host's, and findings of the shifts.

    The promptest launch takes some microseconds that nothing shows: the device may be later.
    """
    kernels, lanes = activities.kernels, activities.lanes
    if not len(kernels) or (kernels.evidence != MEASURED).any():
        return activities
    shift = np.zeros(len(lanes), np.int64)
    findings = []
    for device, rows in split_by_value(lanes.device[kernels.lane]):
        by = _shift_ns(kernels.take(rows), host)
        shift[lanes.device == device] = by
        if by:
            findings.append(_finding(device, by, len(rows), len(kernels)))
    if not findings:
        return activities
    start, end = kernels.start_ns + shift[kernels.lane], kernels.end_ns + shift[kernels.lane]
    order = np.argsort(start, kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    claims, marks = activities.claims, activities.annotations
    by_mark = shift[marks.lane]
    marks = replace(marks, start_ns=marks.start_ns + by_mark, end_ns=marks.end_ns + by_mark)
    return replace(
        activities,
        kernels=replace(kernels, start_ns=start, end_ns=end).take(order),
        claims=claims and replace(claims, row=place[claims.row]),
        annotations=marks.take(np.argsort(marks.start_ns, kind="stable")),
        findings=(*activities.findings, *findings),
    )


def _shift_ns(kernels: Kernels, host: Host) -> int:
    """Return by how much the activities of a device are too early (positive) or too late."""
    launches = host.launches
    linked = np.flatnonzero(kernels.launch >= 0)
    if 2 * len(linked) <= len(kernels):
        return 0
    delay: I64 = kernels.start_ns[linked] - launches.start_ns[kernels.launch[linked]]
    least = int(delay.min())
    is_behind = -least > _APART_NS and 2 * int((delay < 0).sum()) > len(delay)
    length = int(launches.end_ns.max() - launches.start_ns.min())
    return -least if is_behind or least > max(length, LATE_NS) else 0


def _finding(device: int, shift_ns: int, count: int, total: int) -> Finding:
    words = {"device": device, "count": count, "total": total, "time": microseconds(abs(shift_ns))}
    if shift_ns > 0:
        message = say(
            "The clock of device {device} is behind the host's: its {count:,} of {total:,} "
            "activities are shown {time} later, so that none starts before its call.",
            **words,
        )
    else:
        message = say(
            "The clock of device {device} is ahead of the host's: its {count:,} of {total:,} "
            "activities are shown {time} earlier, so that the promptest starts with its call.",
            **words,
        )
    hint = say(
        "Lengths on the device are not affected. Idle times may be off by the time that a launch "
        "takes."
    )
    return Finding(
        "clock_shifted", message, hint, count, "warning", ("totals", "steps"),
    )  # fmt: skip
