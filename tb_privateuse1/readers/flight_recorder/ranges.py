"""Make ranges of a flight recorder's entries, for a dump without a trace beside it.

Collectives of one group may overlap, and ranges of one thread must nest: each that overlaps another
is on a further thread of its group.
"""

from __future__ import annotations

import heapq
from collections import defaultdict

import numpy as np

from tb_privateuse1.readers.raw import Group
from tb_privateuse1.readers.sqlite.columns import Places, Strings
from tb_privateuse1.trace.collective_entries import RETIRED, CollectiveEntries
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import I32, I64

_MOST_THREADS = 32
"""Of one group; further ranges that overlap have no length."""


def ranges_of(entries: CollectiveEntries, strings: Strings, places: Places) -> Group:
    """Return a range for each entry with a time; one that has not ended lasts to the dump's end.

    Times are absolute. A start or completion is when a thread of the backend noticed it.
    """
    rows = np.flatnonzero(entries.created_ns != MISSING)
    rows = rows[np.argsort(entries.created_ns[rows], kind="stable")]
    entries = entries.take(rows)
    last = max(
        int(column.max(initial=0))
        for column in (entries.created_ns, entries.started_ns, entries.completed_ns)
    )
    created, done = entries.created_ns, entries.completed_ns
    begin = np.where(entries.started_ns == MISSING, created, entries.started_ns)
    end = np.where(done == MISSING, np.where(entries.state == RETIRED, begin, last), done)
    end = np.maximum(begin, end)
    thread = np.zeros(len(entries), np.int32)
    for group in np.unique(entries.group).tolist():
        chosen = np.flatnonzero(entries.group == group)
        chosen = chosen[np.argsort(begin[chosen], kind="stable")]
        thread[chosen] = _threads(begin, end, chosen, entries, strings, places)
    names = strings.convert(entries.name, lambda text: text.partition(":")[2] or text)
    order = np.argsort(begin, kind="stable")
    return Group(
        name=np.maximum(names, 0)[order],
        start_ns=begin[order],
        end_ns=end[order],
        thread=thread[order],
        event=entries.event[order],
        texts={"stack": entries.stack[order], "shapes": entries.shapes[order]},
    )


def _threads(
    begin: I64, end: I64, rows: I64, entries: CollectiveEntries, strings: Strings, places: Places
) -> I32:
    """Return the thread of each row of one group, by start; sets the end of what finds no room."""
    group = strings.all[entries.group[rows[0]]]
    purposes: dict[int, int] = defaultdict(int)
    for text in entries.purpose[rows].tolist():
        purposes[text] += 1
    purpose = max(purposes, key=lambda text: purposes[text])
    label = f"{group} ({strings.all[purpose]})" if purpose >= 0 else group
    free: list[tuple[int, int]] = []
    found = []
    begins, ends = begin[rows].tolist(), end[rows].tolist()
    for i, (at, until) in enumerate(zip(begins, ends, strict=True)):
        if free and free[0][0] <= at:
            number = free[0][1]
            heapq.heapreplace(free, (until, number))
        elif len(free) < _MOST_THREADS:
            number = len(free)
            heapq.heappush(free, (until, number))
        else:
            number, end[rows[i]] = 0, at
        found.append(number)
    names = (label if i == 0 else f"{label} {i + 1}" for i in range(max(found) + 1))
    threads = [
        places.add("flight recorder", f"{group}/{i}", name, "Flight recorder")
        for i, name in enumerate(names)
    ]
    return np.array(threads, np.int32)[found]
