"""Doubt the ends of kernels that a preempted thread may have moved, and bound their lengths."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.inference.device_timeline.duration_catalogue import (
    ALIKE,
    Instances,
    seen_medians,
)
from tb_privateuse1.inference.device_timeline.kernel_placement import (
    LaunchSites,
    Placed,
    hidden_length,
)
from tb_privateuse1.inference.device_timeline.timeline_inputs import (
    Bounds,
    Calibration,
    EventPairs,
    TypicalDurations,
)
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.model import BOUND, END_PINNED, EVENTS
from tb_privateuse1.trace.statistics import ERROR_RATE
from tb_privateuse1.trace.table import I64, Bools

_MUCH, _SUSPECT_NS = 4, 50_000
"""The factor and the ns by which a kernel exceeds its typical length if a preemption moved its end.

A preempted thread returns after a time slice, some 100 µs or more; kernels vary by less."""

_SILENT_NS = 30_000
"""A thread that records nothing for this long may have been preempted.

Python between two operators takes less, as a rule; a preempted thread waits for a time slice."""

_OFTEN = 3
"""The least number of calls at a place that are no accident."""


class Doubts(Struct, frozen=True):
    """Which kernels' ends may be those of late events; a row per kernel.

    ``chance``: those of ``ends`` whose work would have ended by chance just with its operator. The
    host's pause explains that, and the end shows no work.
    """

    ends: Bools
    chance: Bools


def works_in_batches(events: EventPairs, blocking: Bools, bounds: Bounds, c: Calibration) -> Bools:
    """Return the operators that waited for the device, but whose end events came later; else none.

    A device that waits for a number of launches, or for a flush, executes what a call that returned
    recorded only with the next ones. Most calls must show it, by more than the latency may be off.
    A thread that is preempted behind the call records the event late, but before its next time
    stamp: only an event that comes later than that was held back.
    """
    waited = np.flatnonzero(blocking)
    end = events.end[waited]
    recorded = np.maximum(events.host_high_ns[end], events.host_ns[events.next[end]])
    late = bounds.low[end] > recorded + c.latency_ns + c.latency_bound_ns + c.jitter_ns
    late &= events.next[end] != end
    often = late.sum() >= _OFTEN and 2 * late.sum() > len(late)
    return mask_of(waited[late & often], len(blocking))


def doubtful_ends(
    limits: Placed,
    instances: Instances,
    sites: LaunchSites,
    events: EventPairs,
    bounds: Bounds,
    c: Calibration,
    place: I64,
) -> Doubts:
    """Return the kernels whose end may be that of a late event, not of their work.

    A thread preempted between an operator's end and its event records the event late. If the
    device was done, the event then shows the host's time. That is possible if the thread's next
    time stamp is after the event. It is likely if the thread was silent for long meanwhile, or if
    the kernel would have ended by chance just when its operator did. If it is longer than others on
    the same shapes (``instances``), an event that a slow thread recorded late explains that, too.
    A scheduler does not prefer a place: what most calls at a ``place`` (one number per kernel) show
    is no pause.
    """
    last = sites.last
    following = events.host_ns[events.next[last]]
    alone = events.next[last] == last
    possible = alone | (following + c.latency_ns + c.jitter_ns >= bounds.low[last])
    prompt = events.host_high_ns[last] + c.latency_ns + c.jitter_ns
    silent = bounds.low[last] - prompt > _SILENT_NS
    behind = bounds.low[last] - events.host_low_ns[last] - c.latency_ns
    possible &= np.isin(limits.evidence, (END_PINNED, EVENTS))
    slow = possible & (behind < _SILENT_NS)
    unlike = slow & _longer_than_others(instances, slow)
    by_chance = behind < ERROR_RATE * limits.length_low
    doubt = (possible & (silent | by_chance)) | unlike
    count = int(place.max(initial=-1)) + 1
    shown = np.bincount(place[doubt], minlength=count)
    often = (shown >= _OFTEN) & (2 * shown > np.bincount(place, minlength=count))
    doubt &= ~often[place]
    # What was launched behind a pause ends with the operator, too.
    length = limits.length_low - sites.apart_ns
    return Doubts(doubt, doubt & (behind < ERROR_RATE * length))


def _longer_than_others(instances: Instances, slow: Bools) -> Bools:
    """Return which are longer than equal work on the same shapes is, as those not ``slow`` show."""
    others = instances.seen & instances.shaped & ~slow
    usual = seen_medians(instances.key, instances.length, others)[instances.key]
    longer: Bools = (usual >= 0) & (instances.low > usual * (1 + ALIKE) + _SUSPECT_NS)
    return longer


def distrust_preempted(
    placed: Placed, typical: TypicalDurations, doubts: Doubts, *, batches: bool = False
) -> tuple[Placed, TypicalDurations]:
    """Return both, without the ends of kernels that a preempted thread may have moved.

    ``batches``: the device holds back the event behind any kernel until the next batch.

    Other instances give the length of doubtful ones; its limits reach from theirs to its own, but
    for ends by chance: these bound nothing, and the limits are those of hidden work. Without other
    instances, it may be as short as any hidden kernel. Where a kernel that is much
    longer than others is not doubtful, the device stalled or had more to do: the kernel keeps its
    length, but not as its least one.
    """
    # A kernel that was preempted itself must not be its own limit.
    held = batches & (placed.evidence == END_PINNED)
    # Limits that hidden calls have in common show no length where the same batch held all of them.
    pooled = (typical.length < 0) & (typical.high >= 0) & ~held
    usual = np.where(pooled, (typical.low + typical.high) // 2, typical.length)
    most = np.minimum(typical.high, 2 * _MUCH * usual)
    few = np.where(doubts.ends & typical.own, 1 + ALIKE, _MUCH) * usual
    most = np.where(typical.high >= 0, most, few)
    long = np.isin(placed.evidence, (END_PINNED, EVENTS))
    long &= placed.length_low > np.maximum(most, usual + _SUSPECT_NS)
    odd = (long & doubts.ends) | held
    low = np.where(typical.low >= 0, typical.low, 0)
    lone = odd & (usual < 0)
    free = replace(
        placed,
        evidence=np.where(odd, BOUND, placed.evidence).astype(np.int8),
        length=np.where(lone, hidden_length(placed.length), placed.length),
        length_low=np.where(
            odd | (long & (usual >= 0)), np.minimum(low, placed.length_low), placed.length_low
        ),
        seen=placed.seen & ~odd,
        guessed=placed.guessed | lone,
    )
    chance = long & doubts.chance & ~held
    high = np.where(odd & ~chance & (typical.high >= 0), placed.length_high, typical.high)
    length = np.where(odd, usual, typical.length)
    own = typical.own | (chance & pooled)
    return free, replace(typical, length=length, high=high, own=own)
