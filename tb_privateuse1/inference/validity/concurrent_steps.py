"""Leave out the steps of further threads that run at the same time as those of another one.

A profiler has one step at a time. Two profilers, or a range of the same name in each thread of a
data-parallel program, have several: counted together they are twice as many, each cut by the next.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.inference.host_tables import NO_STEPS
from tb_privateuse1.readers.raw import Group, Raw
from tb_privateuse1.trace.columns import containing
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.groupby import split_by_value
from tb_privateuse1.trace.step_names import step_strings
from tb_privateuse1.trace.table import I64


class _Thread(Struct, frozen=True):
    """The steps of one thread, by their start."""

    number: int
    start_ns: I64
    end_ns: I64

    @property
    def rank(self) -> tuple[int, int, int]:
        """Return what makes a thread the first: most steps, most time in them, the first start."""
        return len(self.start_ns), int((self.end_ns - self.start_ns).sum()), -int(self.start_ns[0])

    def runs_beside(self, other: _Thread) -> bool:
        """Return whether most of the steps have their middle inside of steps of the other."""
        middle = self.start_ns + (self.end_ns - self.start_ns) // 2
        inside = containing(other.start_ns, other.end_ns, middle) >= 0
        return 2 * int(inside.sum()) > len(middle)


def leave_out(raw: Raw) -> tuple[Raw, tuple[Finding, ...]]:
    """Return the columns with the steps of one thread where several have some at a time.

    The thread with most steps counts. Its steps have the work of all threads. A finding counts the
    others. Processes stay apart: they are several recordings in one file.
    """
    named = step_strings(raw.strings)
    rows = {
        category: at
        for category, group in raw.groups.items()
        if not NO_STEPS.search(category) and len(at := np.flatnonzero(named[group.name]))
    }
    if not rows:
        return raw, ()
    steps = Group.join([raw.groups[category].take(at) for category, at in rows.items()])
    dropped = list(_dropped(raw, steps))
    if not dropped:
        return raw, ()
    groups, lost = dict(raw.groups), 0
    for category, at in rows.items():
        group = raw.groups[category]
        own = at[np.isin(group.thread[at], dropped)]
        groups[category] = group.take(np.delete(np.arange(len(group)), own))
        lost += len(own)
    message = say(
        "{count:,} of {total:,} steps run on other threads at the same time as the others: they "
        "are left out. The steps of one thread have the work of all.",
        count=lost,
        total=len(steps),
    )
    hint = say("Call the profiler's step() in one thread, and record with one profiler.")
    finding = Finding("concurrent_steps", message, hint, lost, "warning", ("steps",))
    return replace(raw, groups=groups), (finding,)


def _dropped(raw: Raw, steps: Group) -> Iterator[int]:
    """Yield the threads whose steps run beside those of the first thread of their process."""
    steps = steps.take(np.argsort(steps.start_ns, kind="stable"))
    for _, own in split_by_value(raw.threads.pid[steps.thread]):
        threads = [
            _Thread(number, steps.start_ns[own[rows]], steps.end_ns[own[rows]])
            for number, rows in split_by_value(steps.thread[own])
        ]
        first = max(threads, key=lambda one: one.rank)
        yield from (one.number for one in threads if one is not first and one.runs_beside(first))
