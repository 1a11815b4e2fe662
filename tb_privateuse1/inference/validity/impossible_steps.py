"""Leave out the ranges of steps that cannot be: around other steps, or all without a length.

A profiler's step ends when the next one begins. A range around later steps has an end that was
never written, or overflowed; their own ranges are whole.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.inference.host_tables import NO_STEPS
from tb_privateuse1.readers.raw import Group, Raw
from tb_privateuse1.trace.columns import following
from tb_privateuse1.trace.findings import LONGEST_INLINE, Finding
from tb_privateuse1.trace.step_names import step_strings
from tb_privateuse1.trace.table import I64

_MOST_LISTED = 3  # a finding is one sentence


def leave_out(raw: Raw) -> tuple[Raw, tuple[Finding, ...]]:
    """Return the columns without impossible steps, and a finding that names them."""
    named = step_strings(raw.strings)
    groups, lost, total = dict(raw.groups), [], 0
    for category, group in raw.groups.items():
        rows = np.flatnonzero(named[group.name])
        if not len(rows) or NO_STEPS.search(category):
            continue
        total += len(rows)
        wrong = rows[_impossible(group.take(rows))]
        if len(wrong):
            lost += [raw.strings[name] for name in group.name[wrong].tolist()]
            groups[category] = group.take(np.delete(np.arange(len(group)), wrong))
    if not lost:
        return raw, ()
    message = say(
        "{count:,} of {total:,} steps are around others, or have no length: they are left out "
        "({names}).",
        count=len(lost),
        total=total,
        names=join_list(shorten(name, LONGEST_INLINE) for name in lost[:_MOST_LISTED]),
    )
    hint = say("The profiler wrote no end, or two profilers ran. What they span is in no step.")
    finding = Finding("impossible_steps", message, hint, len(lost), "warning", ("steps",))
    return replace(raw, groups=groups), (finding,)


def _impossible(steps: Group) -> I64:
    """Return the rows of steps around one of another name, or of all if none has a length.

    Nothing is around a step without a length: it may begin with the one before it.
    """
    start, end = steps.start_ns, steps.end_ns
    lasting = np.flatnonzero(end > start)
    if not len(lasting):
        return np.arange(len(steps))
    order = lasting[np.lexsort((-end[lasting], start[lasting], steps.thread[lasting]))]
    thread, name = steps.thread[order], steps.name[order]
    inside = following(end[order], -1) <= end[order]
    around = inside & (following(thread, -1) == thread) & (following(name, -1) != name)
    around[-1] = False
    found: I64 = order[around]
    return found
