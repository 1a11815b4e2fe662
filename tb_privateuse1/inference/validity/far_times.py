"""Leave out ranges whose times are days away from all others: no recording is that long."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.inference.quality.check_subject import microseconds
from tb_privateuse1.readers.raw import Group, Raw
from tb_privateuse1.trace.findings import ALL, Finding
from tb_privateuse1.trace.table import Bools

DAY_NS = 86_400 * 10**9
"""A profiler keeps all events in memory: the longest shared recording has 43 s."""
_MOST_LISTED, _LONGEST = 4, 40  # categories in a finding, and characters of each


def leave_out(raw: Raw) -> tuple[Raw, tuple[Finding, ...]]:
    """Return the columns without ranges a day from the middle one, and a finding that counts them.

    If most of a category are, they have another clock: they stay.
    """
    groups = {category: group for category, group in raw.groups.items() if len(group)}
    if not groups:
        return raw, ()
    first = min(int(group.start_ns.min()) for group in groups.values())
    last = max(int(group.start_ns.max()) for group in groups.values())
    if last - first <= DAY_NS:
        return raw, ()
    middle = int(np.median(np.concatenate([group.start_ns for group in groups.values()])))
    far = {category: _far(group, middle) for category, group in groups.items()}
    lost = {c: int(at.sum()) for c, at in far.items() if at.any() and 2 * at.sum() < len(at)}
    if not lost:
        return raw, ()
    kept = {
        category: group.take(~far[category]) if category in lost else group
        for category, group in groups.items()
    }
    farthest = max(int(abs(groups[c].start_ns[far[c]] - middle).max()) for c in lost)
    message = say(
        "{count:,} of {total:,} ranges are up to {time} away from the others: they are left out "
        "({kinds}).",
        count=sum(lost.values()),
        total=sum(map(len, groups.values())),
        time=microseconds(farthest),
        kinds=join_list(
            say("{name}: {count:,}", name=shorten(name, _LONGEST) or say("no category"), count=n)
            for name, n in sorted(lost.items(), key=lambda one: -one[1])[:_MOST_LISTED]
        ),
    )
    hint = say("The profiler wrote wrong times. Record again, with a newer profiler library.")
    finding = Finding("far_events", message, hint, sum(lost.values()), "error", ALL)
    return replace(raw, groups=kept), (finding,)


def _far(group: Group, middle: int) -> Bools:
    far: Bools = abs(group.start_ns - middle) > DAY_NS
    return far
