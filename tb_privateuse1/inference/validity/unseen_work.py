"""Say that device times are lower limits where the device did work that no recorded call launched.

A thread that the profiler does not record, a library beside torch or another process launches, too.
Its work delays the events of the recorded operators: they wait, though nothing known runs.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.model import MISSING, Trace


def mark(trace: Trace, unseen_ns: int, *, timed: bool = False) -> Trace:
    """Return the trace, marked if events waited for longer than the error of its busy time.

    ``unseen_ns``: how long they waited without known work. ``timed``: the backend reports when they
    were executed.
    """
    bound = uncertainty.union_bound(trace.kernels)
    if trace.meta.timeline != "inferred" or bound is None or unseen_ns <= bound:
        return trace
    message = say(
        "For {time_ms:,.1f} ms the device was busy with work that no recorded operator launched: "
        "device times are lower bounds, and idle times upper ones.",
        time_ms=unseen_ns / 1e6,
    )
    hint = say(
        "A thread that the profiler does not record may launch, or a library beside torch. Record "
        "all threads, or let the backend report the times of its events."
    )
    finding = Finding("work_unseen", message, hint, None, "warning", DEVICE)
    findings = (*trace.meta.findings, finding)
    marked = replace(trace, meta=replace(trace.meta, unseen_work=True, findings=findings))
    if timed:
        return marked
    # Unseen work delays all that was launched behind it: nothing bounds when that began.
    unknown = np.full(len(trace.kernels), MISSING)
    return replace(marked, kernels=replace(trace.kernels, start_bound_ns=unknown))
