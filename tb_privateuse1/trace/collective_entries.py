"""Table of torch's flight recorder: what each rank enqueued, and how far it came."""

from __future__ import annotations

from tb_privateuse1.trace.table import (
    Bools,
    Code,
    MaybeText,
    Name,
    Nanoseconds,
    Number,
    SmallNumber,
    Table,
)

SCHEDULED, STARTED, COMPLETED, RETIRED = range(4)
"""``RETIRED``: the backend has dropped it, and records no times: it ended, or failed."""
STATES = ("scheduled", "started", "completed", "retired")


class CollectiveEntries(Table, frozen=True):
    """Collectives and messages that one rank enqueued, in the order of its flight recorder.

    ``name`` is torch's (``nccl:all_reduce``, ``nccl:send 0->1``). ``sequence`` is the number of a
    collective in its group, the same on each rank; of a ``message`` (send, receive) it counts this
    rank's. Collectives of one call have one number. ``members`` is a JSON list of the group's
    ranks, ``NONE`` if the dump does not have it. Shapes and types are JSON lists. Times are
    ``MISSING`` where they are not recorded; those of start and completion are when a thread of the
    backend noticed them. ``whole``: the recorder still has the first entry of its rank.
    """

    name: Name
    group: MaybeText
    purpose: MaybeText
    members: MaybeText
    sequence: Number
    message: Bools
    state: Code
    whole: Bools
    created_ns: Nanoseconds
    started_ns: Nanoseconds
    completed_ns: Nanoseconds
    shapes: MaybeText
    dtypes: MaybeText
    out_shapes: MaybeText
    out_dtypes: MaybeText
    stack: MaybeText
    event: SmallNumber
