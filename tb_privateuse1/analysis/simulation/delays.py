"""Name the causes of delays that the dependency graph does not explain.

A delay keeps its length in the replay, except that work from before the recording ends when it
ended: nothing in the recording moves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.simulation import launches_and_waits
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.model import MISSING, NONE, Kernels
from tb_privateuse1.trace.table import I8, I64, Bools

Delay = Literal[
    "before_recording",
    "blocked",
    "queue_full",
    "unknown_launch",
    "clock_doubt",
    "unattributed",
]
DELAYS: tuple[Delay, ...] = get_args(Delay)
"""``before_recording``: the device ran work that was launched before the recording. ``blocked``:
a call waited for what is not recorded. ``queue_full``: a launch waited for a place in the queue.
``unknown_launch``: the launch of an activity is not recorded. ``clock_doubt``: within the error of
the clocks or of inferred times."""

BEFORE_RECORDING, BLOCKED, QUEUE_FULL, UNKNOWN_LAUNCH, CLOCK_DOUBT, UNATTRIBUTED = range(
    len(DELAYS)
)

CLASS_OF: Mapping[Delay, ClassName] = {
    "before_recording": "before_recording",
    "unknown_launch": "unknown_launch",
    "clock_doubt": "clock_doubt",
    "unattributed": "unattributed",
}
"""The class of time of each delay of an activity; what a call waits for is its own."""

NAMELESS = (CLOCK_DOUBT, UNATTRIBUTED)
"""Delays without a mechanism: the replay of what is known leaves them out."""


def device_delays(
    kernels: Kernels,
    submission: launches_and_waits.Submissions,
    delay: I64,
    early: Bools,
    slack_ns: int,
) -> I8:
    """Return the cause of each activity's delay, ``NONE`` without one.

    ``early`` are activities that waited for work from before the recording; ``slack_ns`` is the
    error between the two clocks.
    """
    bound = np.where(kernels.start_bound_ns == MISSING, 0, kernels.start_bound_ns)
    doubt = (delay <= slack_ns) | (delay <= bound)
    cause = np.select([submission.thread < 0, doubt], [UNKNOWN_LAUNCH, CLOCK_DOUBT], UNATTRIBUTED)
    cause = np.where(delay > 0, cause, NONE)
    return np.where(early, BEFORE_RECORDING, cause).astype(np.int8)


def wait_delays(
    kernels: Kernels,
    waits: launches_and_waits.Waits,
    submission: launches_and_waits.Submissions,
    late: I64,
) -> I8:
    """Return the cause of each wait's delay ``late``, ``NONE`` without one.

    A wait that begins before anything was launched waits for work from before the recording. A call
    during most of which its own copy runs waits for that copy.
    """
    known = submission.at_ns[submission.thread >= 0]
    first = int(known.min(initial=np.iinfo(np.int64).max))
    full = mask_of(waits.wait, len(waits.start_ns))
    full &= waits.queue
    alone = np.ones(len(full), np.bool_)
    alone[waits.wait] = False
    before = alone & ~_copies_itself(kernels, waits) & (waits.start_ns <= first)
    cause = np.select([full, before], [QUEUE_FULL, BEFORE_RECORDING], BLOCKED)
    return np.where(late > 0, cause, NONE).astype(np.int8)


def _copies_itself(kernels: Kernels, waits: launches_and_waits.Waits) -> Bools:
    """Return by wait whether an activity that it launched runs during more than half of it."""
    rows = np.flatnonzero(kernels.launch >= 0)
    own = np.full(int(kernels.launch.max(initial=NONE)) + 2, NONE)
    own[kernels.launch[rows]] = rows
    at = own[np.minimum(waits.launch, len(own) - 1)]
    start = np.maximum(lookup(kernels.start_ns, at, 0), waits.start_ns)
    end = np.minimum(lookup(kernels.end_ns, at, 0), waits.end_ns)
    runs: Bools = (at >= 0) & (2 * (end - start) > waits.end_ns - waits.start_ns)
    return runs


def launched_before(kernels: Kernels, submission: launches_and_waits.Submissions) -> Bools:
    """Return the activities that the program launched before the recording.

    They have no recorded launch, and precede the first activity of their stream that has one.
    """
    known = submission.thread >= 0
    first = np.full(int(kernels.lane.max(initial=NONE)) + 1, np.iinfo(np.int64).min)
    rows = np.flatnonzero(known)[::-1]
    first[kernels.lane[rows]] = kernels.start_ns[rows]
    early: Bools = ~known & (kernels.start_ns < first[kernels.lane])
    return early
