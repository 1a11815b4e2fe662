"""Leave out ranges with the time stamp 0 or below, if the recording's clock never was at 0."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.inference.quality.check_subject import microseconds
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.findings import ALL, Finding
from tb_privateuse1.trace.table import Bools

_MOST_LISTED, _LONGEST = 4, 40  # categories in a finding, and characters of each


def leave_out(raw: Raw) -> tuple[Raw, tuple[Finding, ...]]:
    """Return the columns without ranges at 0, and a finding that counts them.

    A clock may begin at 0. It did not if between these ranges and all others more time passes than
    the others last together: then 0 stands for a time that the profiler did not write.
    """
    zero = _at_zero(raw)
    lost = {category: count for category, at in zero.items() if (count := int(at.sum()))}
    if not lost:
        return raw, ()
    others = [group.take(~zero[category]) for category, group in raw.groups.items()]
    others = [group for group in others if len(group)]
    if not others:
        return raw, ()
    first = min(int(group.start_ns.min()) for group in others)
    last = max(int(group.end_ns.max()) for group in others)
    ended = max(int(raw.groups[category].end_ns[zero[category]].max()) for category in lost)
    if first - ended <= last - first:
        return raw, ()
    groups = {
        category: group.take(~zero[category]) if category in lost else group
        for category, group in raw.groups.items()
        if not zero[category].all()
    }
    kinds = sorted(lost.items(), key=lambda one: -one[1])[:_MOST_LISTED]
    message = say(
        "{count:,} of {total:,} ranges have the time stamp 0 or below, and the others begin {time} "
        "later: the former are left out ({kinds}).",
        count=sum(lost.values()),
        total=sum(map(len, raw.groups.values())),
        time=microseconds(first),
        kinds=join_list(
            say("{name}: {count:,}", name=shorten(name, _LONGEST) or say("no category"), count=n)
            for name, n in kinds
        ),
    )
    hint = say("The profiler wrote no time for them. Record again, with a newer profiler library.")
    memory = raw.memory.take(np.flatnonzero(raw.memory.start_ns > 0))
    finding = Finding("zero_times", message, hint, sum(lost.values()), "warning", ALL)
    return replace(raw, groups=groups, memory=memory), (finding,)


def _at_zero(raw: Raw) -> dict[str, Bools]:
    """Return by category which ranges are before 0, or at 0 beside others or without a length.

    A clock that begins at 0 has a single first range on a thread.
    """
    of_thread = np.zeros(len(raw.threads), np.int64)
    at_zero = {category: group.start_ns == 0 for category, group in raw.groups.items()}
    for category, zero in at_zero.items():
        of_thread += np.bincount(raw.groups[category].thread[zero], minlength=len(of_thread))
    return {
        category: (group.start_ns < 0)
        | (zero & ((group.end_ns == 0) | (of_thread[group.thread] > 1)))
        for (category, group), zero in zip(raw.groups.items(), at_zero.values(), strict=True)
    }
