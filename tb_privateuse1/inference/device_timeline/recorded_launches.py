"""Assign recorded launches to the intervals between a stream's events, if there are any.

Then nothing about launches is inferred: the operator in whose own body a launch lies launched it,
segments without one are launch-free, and work begins no earlier than its launch and the latency.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.inference.device_timeline import launching_operators
from tb_privateuse1.inference.device_timeline.kernel_placement import LaunchSites
from tb_privateuse1.inference.device_timeline.launching_operators import Segments
from tb_privateuse1.inference.device_timeline.streams import Stream
from tb_privateuse1.inference.device_timeline.timeline_inputs import EventPairs
from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.readers.raw import HostLaunches
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import latest_not_after, mask_of
from tb_privateuse1.trace.groupby import maxima, minima
from tb_privateuse1.trace.model import NONE, OPERATOR, Ops, Threads
from tb_privateuse1.trace.table import I64, Bools

_INSIDE = 0.9
"""The share of launches by the operators' threads from which these surely launch themselves."""

_OWN = 0.25
"""The least share of operators without others inside, and whose names allow a launch, that launch
in their own thread. In 156 recordings it is 0.50 and more, with unseen threads or without. Where a
thread of the backend launches for them, none does."""


class KnownLaunches(Struct, frozen=True):
    """Launches on the trace's clock, in ns; ``thread`` is a row of ``Threads``."""

    host_ns: I64
    thread: I64
    device: I64
    stream: I64


class Positions(Struct, frozen=True):
    """Per event of a stream: the launches of its thread before the thread's next event.

    ``count`` of them, and the host times of the first and the last one, 0 without any.
    """

    count: I64
    first_ns: I64
    last_ns: I64

    @property
    def launching(self) -> Bools:
        """Return the events behind which their thread launched."""
        launched: Bools = self.count > 0
        return launched


def known_launches(
    recorded: HostLaunches | None, base_ns: int, threads: Threads, strings: Strings, ops: Ops
) -> KnownLaunches | None:
    """Return the launches that the backend recorded, or None if they do not fit the trace.

    ``base_ns``: the absolute time of the trace's clock.
    """
    if recorded is None or not len(ops):
        return None
    number = {strings.all[t]: row for row, t in enumerate(threads.tid.tolist()) if t != NONE}
    distinct, of = np.unique(recorded.thread, return_inverse=True)
    rows = np.array([number.get(str(t), NONE) for t in distinct.tolist()], np.int64)
    thread, host = rows[of], recorded.host_ns - base_ns
    during = (host >= ops.start_ns.min()) & (host <= ops.end_ns.max())
    inside = during & np.isin(thread, ops.thread)
    if not inside.any():
        return None
    alone = inside.sum() >= _INSIDE * during.sum()
    if not alone and not _launch_themselves(ops, strings, host[inside], thread[inside]):
        return None
    return KnownLaunches(
        host[inside], thread[inside], recorded.device[inside], recorded.stream[inside]
    )


def _launch_themselves(ops: Ops, strings: Strings, host: I64, thread: I64) -> bool:
    """Return whether the operators launch in their own threads, by these launches of theirs.

    Then other threads launched work of their own; else they may launch for the operators.
    """
    may = launching_operators.may_launch(ops, strings)
    leaf = may & ~intervals.enclosing(ops.parent, may)
    at = intervals.innermost(ops.thread, ops.start_ns, ops.end_ns, thread.astype(np.int32), host)
    launched = mask_of(at[at >= 0], len(ops))
    return bool((leaf & launched).sum() > _OWN * leaf.sum())


def launch_positions(
    known: KnownLaunches | None, stream: Stream, alone: bool, events: EventPairs, ops: Ops
) -> Positions | None:
    """Return the positions of a stream's launches, or None if they are not known.

    ``alone``: the elapsed times name no streams; then all launches must be on one.
    """
    if known is None or not len(events):
        return None
    mine = (known.device == stream.device) & (known.stream == stream.stream)
    if alone:
        if len(np.unique(np.stack((known.device, known.stream)), axis=1).T) > 1:
            return None
        mine = np.ones(len(known.host_ns), np.bool_)
    host, thread = known.host_ns[mine], known.thread[mine]
    at = _event_before(events, ops, host, thread)
    host, at = host[at >= 0], at[at >= 0]
    count = np.bincount(at, minlength=len(events)).astype(np.int64)
    first = minima(at, host, len(events))
    last = maxima(at, host, len(events), np.iinfo(np.int64).min)
    return Positions(count, np.where(count, first, 0), np.where(count, last, 0))


def operators_with_launches(positions: Positions, events: EventPairs, ops: Ops) -> Bools:
    """Return the operators in whose own body a launch lies."""
    launching = np.zeros(len(ops), np.bool_)
    inside = events.innermost[positions.launching]
    launching[inside[inside >= 0]] = True
    launching &= ops.kind == OPERATOR
    return launching


def launching_segments(positions: Positions | None, events: EventPairs, may: Bools) -> Bools:
    """Return per event whether its thread launched, or may have, before its next one.

    ``may`` launch: the operators, which count where the launches are not known.
    """
    if positions is not None:
        return positions.launching
    return launching_operators.launching_segments(events, may)


def launch_sites(
    positions: Positions, segments: Segments, copies: Bools
) -> tuple[Bools, LaunchSites]:
    """Return which segments of operators hold launches, and these as sites.

    ``copies``: the operators that copy a tensor.
    """
    use = positions.launching[segments.first]
    op, first, last = segments.op[use], segments.first[use], segments.last[use]
    launched = positions.first_ns[first], positions.last_ns[first]
    return use, LaunchSites(op, first, last, np.ones(len(op), np.bool_), copies[op], launched)


def _event_before(events: EventPairs, ops: Ops, host: I64, thread: I64) -> I64:
    """Return the last event of its thread before each launch, ``NONE`` without one."""
    stamp = np.where(events.is_end, ops.end_ns[events.op], ops.start_ns[events.op])
    of = ops.thread[events.op].astype(np.int64)
    origin = min(int(stamp.min()), int(host.min(initial=0)))
    reach = max(int(stamp.max()), int(host.max(initial=0))) - origin + 1
    # Events are in the order of the host, so that those of a thread keep theirs.
    order = np.argsort(of, kind="stable")
    key = of[order] * reach + np.maximum.accumulate(stamp - origin)[order]
    place = latest_not_after(key, thread * reach + host - origin)
    event = order[np.maximum(place, 0)]
    return np.where((place >= 0) & (of[event] == thread), event, NONE)
