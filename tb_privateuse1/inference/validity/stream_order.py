"""Repair the ends of activities: those that their stream does not allow, and those never written.

A stream runs its activities in order. The next one may start while the one before runs out
(programmatic launch), but none ends before an earlier one. So an activity that outlasts a later one
of its stream has an impossible end: its counter overflowed, or the end was never written. So has
one that runs on behind a wait for the device, and one without any length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.inference.host_tables import Host
from tb_privateuse1.inference.quality.check_subject import microseconds, share
from tb_privateuse1.inference.stage_inputs import Activities, Strings
from tb_privateuse1.trace.columns import following
from tb_privateuse1.trace.findings import DEVICE, LONGEST_INLINE, Finding
from tb_privateuse1.trace.groupby import maxima, minima, named_rows, split_by_value
from tb_privateuse1.trace.model import KERNEL, MEASURED, Kernels
from tb_privateuse1.trace.table import I64

_LAST = np.iinfo(np.int64).max
_WAITS = re.compile(r"(device|ctx|context)_?synchroni[sz]e", re.IGNORECASE)
_COARSE_NS = 2000
"""Start and end are each rounded to a whole microsecond in older files."""


def cut(activities: Activities, host: Host, strings: Strings) -> Activities:
    """Return the activities with possible ends, and a finding that counts the repaired ones.

    A repaired activity ends when the next one of its stream starts; the last one of a stream takes
    as long as the longest other one of its name, or ends when a wait for the device does. It may
    have ended at any time before: its duration is its error bound.
    """
    kernels = activities.kernels
    if not len(kernels) or (kernels.evidence != MEASURED).any():
        return activities
    waits = np.full(len(kernels), _LAST)
    if len(np.unique(activities.lanes.device)) == 1:  # a wait is for one device
        waits = _ends_of_waits(kernels, host, strings)
    empty = _without_length(kernels)
    if len(empty):
        finding = _without_length_finding(kernels, empty, strings)
        kernels = _extended(kernels, empty, waits)
        activities = replace(activities, kernels=kernels, findings=(*activities.findings, finding))
    limit = np.minimum(_limits(kernels), waits)
    doubtful = _limit_longest(kernels, limit, host)
    findings = activities.findings
    if doubtful:
        findings = (*findings, _doubt(kernels, doubtful, strings))
    rows = np.flatnonzero(limit < kernels.end_ns)
    if not len(rows):
        return replace(activities, findings=findings)
    end, bound = kernels.end_ns.copy(), kernels.duration_bound_ns.copy()
    end[rows] = limit[rows]
    bound[rows] = limit[rows] - kernels.start_ns[rows]
    repaired = replace(kernels, end_ns=end, duration_bound_ns=bound)
    finding = _finding(kernels, repaired, rows, strings)
    return replace(activities, kernels=repaired, findings=(*findings, finding))


def _without_length(kernels: Kernels) -> I64:
    """Return the rows of activities whose length was not written.

    Work takes time. Whole microseconds hide work below one: then all others of its name are longer,
    or no kernel has a length at all.
    """
    length = kernels.end_ns - kernels.start_ns
    none = length <= 0
    if not none.any():
        return np.empty(0, np.int64)
    if _is_coarse(kernels):
        names = int(kernels.name.max()) + 1
        positive = np.where(none, _LAST, length)
        least = minima(kernels.name, positive, names)[kernels.name]
        longer = (least > _COARSE_NS) & (least < _LAST)
        of_kernels = kernels.kind == KERNEL
        none &= longer | (of_kernels & (not (length[of_kernels] > 0).any()))
    return np.flatnonzero(none)


def _extended(kernels: Kernels, rows: I64, waits: I64) -> Kernels:
    """Return the kernels with the latest ends of some, and these lengths as error bounds.

    Such an activity ended before the next one of its stream started, and took no longer than the
    longest one of its name. If nothing limits it, it stays without a length.
    """
    length = kernels.end_ns - kernels.start_ns
    longest = maxima(kernels.name, length, int(kernels.name.max()) + 1)[kernels.name[rows]]
    start = kernels.start_ns[rows]
    latest = np.where(longest > 0, start + longest, _LAST)
    next_start = np.full(len(kernels), _LAST)
    for _, own in split_by_value(kernels.lane):
        next_start[own] = following(kernels.start_ns[own], _LAST)
    latest = np.minimum.reduce((latest, next_start[rows], waits[rows]))
    latest = np.where(latest < _LAST, np.maximum(latest, start), start)
    end, bound = kernels.end_ns.copy(), kernels.duration_bound_ns.copy()
    end[rows], bound[rows] = latest, latest - start
    return replace(kernels, end_ns=end, duration_bound_ns=bound)


def _is_coarse(kernels: Kernels) -> bool:
    return not (kernels.end_ns[:1000] % 1000).any()


def _limits(kernels: Kernels) -> I64:
    """Return by activity the start of the next one of its stream if it outlasts a later one."""
    limit = np.full(len(kernels), _LAST)
    if not (following(kernels.start_ns, _LAST) < kernels.end_ns).any():
        return limit  # no two activities overlap, on any stream
    for rows, later in _impossible(kernels):
        limit[rows] = later
    return limit


def _impossible(kernels: Kernels) -> Iterator[tuple[I64, I64]]:
    """Yield by stream the rows of impossible ends, and the start of the next activity of each."""
    tolerance = _COARSE_NS if _is_coarse(kernels) else 0
    for _, rows in split_by_value(kernels.lane):  # within a stream they are by start
        start, end = kernels.start_ns[rows], kernels.end_ns[rows]
        earliest = np.minimum.accumulate(end[::-1])[::-1]
        outlasts = end > following(earliest, _LAST - tolerance) + tolerance
        is_exception = 2 * int(outlasts.sum()) < len(rows)
        if outlasts.any() and is_exception and _is_in_order(start[~outlasts], end[~outlasts]):
            yield rows[outlasts], following(start, _LAST)[outlasts]


def _is_in_order(start: I64, end: I64) -> bool:
    """Return whether no activity of a stream runs when the one after the next one starts.

    Several queues that are reported as one stream overlap at many places.
    """
    reach = np.maximum.accumulate(end)
    return bool((reach[:-2] <= start[2:]).all())


def _ends_of_waits(kernels: Kernels, host: Host, strings: Strings) -> I64:
    """Return by activity the end of a wait for the device that it outlasts, else a late time.

    The wait began behind its launch. A device's clock that is ahead of the host's by some time
    shifts starts and ends alike: then the activity starts behind the wait, too, or it outlasts the
    wait by less than the time from its launch to the end of the wait.
    """
    launches = host.launches
    waits = np.flatnonzero(named_rows(strings.all, launches.name, _WAITS.search))
    limit = np.full(len(kernels), _LAST)
    rows = np.flatnonzero(kernels.launch >= 0)
    if not len(waits) or not len(rows):
        return limit
    waits = waits[np.argsort(launches.start_ns[waits], kind="stable")]
    earliest = np.minimum.accumulate(launches.end_ns[waits][::-1])[::-1]
    launch = kernels.launch[rows]
    at = np.searchsorted(launches.start_ns[waits], launches.end_ns[launch])
    waited_for = at < len(waits)
    rows, launch, at = rows[waited_for], launch[waited_for], at[waited_for]
    waited, start = earliest[at], kernels.start_ns[rows]
    beyond = kernels.end_ns[rows] - waited > waited - launches.start_ns[launch] + _COARSE_NS
    impossible = beyond & (start <= waited)
    limit[rows[impossible]] = waited[impossible]
    return limit


def _limit_longest(kernels: Kernels, limit: I64, host: Host) -> list[int]:
    """Set the limit of activities that are longer than all the rest of the recording.

    The next one of the stream limits it, or others of its name. Communication may take longer than
    others of its name. Returns the rows that nothing limits.
    """
    tables = [t for t in (host.ops, host.launches, host.frames) if len(t)]
    # Of the device the starts alone count: any of the ends may be impossible.
    first = min([int(kernels.start_ns[0]), *(int(t.start_ns.min()) for t in tables)])
    last = max([int(kernels.start_ns[-1]), *(int(t.end_ns.max()) for t in tables)])
    length = kernels.end_ns - kernels.start_ns
    long = (limit == _LAST) & (length > last - first)
    doubtful: list[int] = []
    for row in np.flatnonzero(long).tolist() if len(kernels) + len(tables) > 1 else ():
        behind = kernels.start_ns[(kernels.lane == kernels.lane[row]).nonzero()[0]]
        behind = behind[np.searchsorted(behind, kernels.start_ns[row], side="right") :]
        alike = (limit == _LAST) & ~long & (kernels.name == kernels.name[row])
        if len(behind):
            limit[row] = behind[0]
        elif alike.any() and not kernels.communication[row]:
            limit[row] = kernels.start_ns[row] + length[alike].max()
        else:
            doubtful.append(row)
    return doubtful


def _finding(before: Kernels, after: Kernels, rows: I64, strings: Strings) -> Finding:
    longest = int(rows[np.argmax((before.end_ns - before.start_ns)[rows])])
    left_out = int((before.end_ns - after.end_ns)[rows].sum())
    message = say(
        "{count:,} of {total:,} device activities last longer than their stream allows, up to "
        "{time} ({name}).",
        count=len(rows),
        total=len(before),
        time=microseconds(int(before.end_ns[longest] - before.start_ns[longest])),
        name=shorten(strings.all[before.name[longest]], LONGEST_INLINE),
    )
    cut_off = say(
        "They end where the next activity of their stream starts, where a wait for the device "
        "ends, or are as long as others of their name. {part} of the sum of all durations is left "
        "out.",
        part=share(left_out, int((before.end_ns - before.start_ns).sum())),
    )
    hint = say(
        "A counter of the profiler overflowed, or it wrote no end. How long they really took is "
        "not known; the error bounds contain it."
    )
    return Finding(
        "impossible_durations", join_sentences((message, cut_off)), hint, len(rows), "warning",
        DEVICE,
    )  # fmt: skip


def _without_length_finding(kernels: Kernels, rows: I64, strings: Strings) -> Finding:
    message = say(
        "{count:,} of {total:,} device activities have no length ({name}). They end where the next "
        "activity of their stream starts, or are as long as the longest one of their name.",
        count=len(rows),
        total=len(kernels),
        name=shorten(strings.all[kernels.name[rows[0]]], LONGEST_INLINE),
    )
    hint = say(
        "The profiler wrote no end, or one before the start. How long they really took is not "
        "known; the error bounds contain it."
    )
    return Finding("unwritten_durations", message, hint, len(rows), "warning", DEVICE)


def _doubt(kernels: Kernels, rows: list[int], strings: Strings) -> Finding:
    longest = max(int(kernels.end_ns[row] - kernels.start_ns[row]) for row in rows)
    message = say(
        "{count:,} device activities last longer than all the rest of the recording, up to {time} "
        "({name}): nothing shows whether they did.",
        count=len(rows),
        time=microseconds(longest),
        name=shorten(strings.all[kernels.name[rows[0]]], LONGEST_INLINE),
    )
    hint = say("Record a call that waits for the device behind them, or more of the program.")
    return Finding("doubtful_durations", message, hint, len(rows), "info", DEVICE)
