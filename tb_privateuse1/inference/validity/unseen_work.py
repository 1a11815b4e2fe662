"""Say that device times are lower limits where the device did work that no recorded call launched.

A thread that the profiler does not record, a library beside torch or another process launches, too.
Its work delays the events of the recorded operators: they wait, though nothing known runs.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import plural, say
from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.model import MISSING, Trace

_OFTEN, _OFTEN_TIMED = 2, 1
"""Waits without known work that are no accident, concluded and measured. Of 200 recordings of a
single thread, five have one by conclusion, as a wrong claim makes it, and none a measured one."""

_TIED_NS = 25_000
"""The largest launch latency that is assumed. Where a device's measured clock is further off, the
events that waits left to an idle device were none: unseen work ran then."""

_SHOWN_NS = 50_000
"""Less reads as 0.0 ms."""


def mark(trace: Trace, unseen_ns: int, waits: int = 0, *, timed: bool = False) -> Trace:
    """Return the trace, marked if events waited for work that nobody is known to have launched.

    They did if that was longer than the error of the busy time, or more than accidents. Waits show
    only what ran while the program's own events were due, so that nothing bounds the rest.

    ``unseen_ns``: how long they waited. ``waits``: how often they surely did, where the program did
    not launch it itself. ``timed``: the backend reports when they were executed.
    """
    bound = uncertainty.union_bound(trace.kernels)
    few = waits < (_OFTEN_TIMED if timed else _OFTEN)
    accident = bound is None or (unseen_ns <= bound and few)
    if trace.meta.timeline != "inferred" or accident:
        return trace
    message = (
        say(
            "For {time_ms:,.1f} ms and more the device was busy with work that no recorded "
            "operator launched: device times are lower bounds, and idle times upper ones.",
            time_ms=unseen_ns / 1e6,
        )
        if unseen_ns >= _SHOWN_NS
        else say(
            "{waits} the device was busy with work that no recorded operator launched: device "
            "times are lower bounds, and idle times upper ones.",
            waits=plural(waits, "time"),
        )
    )
    hint = say(
        "A thread that the profiler does not record may launch, or a library beside torch. Record "
        "all threads: profile_all_threads of the profiler's experimental_config."
    )
    finding = Finding("work_unseen", message, hint, None, "warning", DEVICE)
    findings = (*trace.meta.findings, finding)
    marked = replace(trace, meta=replace(trace.meta, unseen_work=True, findings=findings))
    if timed and uncertainty.shift_bound(trace.kernels) <= _TIED_NS:
        return marked
    # Unseen work delays all that was launched behind it: nothing bounds when that began.
    unknown = np.full(len(trace.kernels), MISSING)
    return replace(marked, kernels=replace(trace.kernels, start_bound_ns=unknown))
