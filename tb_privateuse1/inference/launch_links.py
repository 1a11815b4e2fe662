"""Link device activities to the calls that launched them, by the correlation that both have.

A profiler numbers its calls from 1, in one process. So 0 is no number, a number says nothing of
another process, and only their order distinguishes calls that share one: a stream runs first what
it was given first, and nothing before it was launched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tb_privateuse1.inference.stage_inputs import rows_of, share_ids
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.trace import blocking_names
from tb_privateuse1.trace.groupby import named_rows, split_by_value
from tb_privateuse1.trace.model import KERNEL, MEMCPY, MEMSET, NONE, Launches
from tb_privateuse1.trace.table import I8, I32, I64, Bools
from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors import words

_STARTS_WORK = re.compile(r"launch|memcpy|memset", re.IGNORECASE)
_NEVER = (
    r"^(<runtimes>)?(get|query|set(?!_)|is[A-Z_])|attribute|occupancy|"
    r"^(<runtimes>)(event|stream(?!_?write)|device|ctx|func(?!_?launch)|module(?!_?launch)|malloc|"
    r"free|host(?!_?launch)|peek|pointer|ipc)"
)
"""Calls that ask, wait, or manage what the host has. ``<runtimes>`` are the vendors' prefixes."""
_COPY, _FILL = re.compile("memcpy", re.IGNORECASE), re.compile("memset", re.IGNORECASE)


def starts_work(launches: Launches, vendor: Vendor, strings: Sequence[str]) -> Bools:
    """Return which calls say by their names that they start work on the device."""
    started = named_rows(strings, launches.name, _STARTS_WORK.search)
    return started & can_launch(launches, vendor, strings)


def can_launch(launches: Launches, vendor: Vendor, strings: Sequence[str]) -> Bools:
    """Return which calls can start work on the device: those of unknown names can, too."""
    runtimes = words("runtime_prefixes", vendor.runtime_prefixes)
    never = re.compile(_NEVER.replace("<runtimes>", runtimes), re.IGNORECASE)

    def cannot(name: str) -> bool:
        return bool(never.search(name)) or blocking_names.polls(name)

    can: Bools = ~named_rows(strings, launches.name, cannot)
    return can


def link_activities(
    launches: Launches,
    events: Group,
    lane: I32,
    kind: I8,
    process: tuple[I32, I32],
    vendor: Vendor,
    strings: Sequence[str],
) -> I32:
    """Return the row of ``launches`` of each activity, ``NONE`` without one.

    ``lane`` and ``kind`` are the activities' streams and kinds; ``process`` numbers the processes
    of the calls and of the activities.
    """
    wanted = events.id("correlation")
    launch = np.full(len(events), NONE, np.int32)
    calls = np.flatnonzero((launches.correlation >= 0) & can_launch(launches, vendor, strings))
    if not len(calls):
        return launch
    key, own = launches.correlation[calls], wanted
    if share_ids(key, process[0][calls]):
        count = int(process[0].max()) + 1
        key = key * count + process[0][calls]
        own = np.where(wanted >= 0, wanted * count + process[1], NONE)
    row = rows_of(key, np.where(wanted > 0, own, NONE))
    launch = np.where(row >= 0, calls[row], NONE).astype(np.int32)
    shared = _shared_keys(launches, calls, key, starts_work(launches, vendor, strings)[calls])
    shared = np.union1d(shared, key[launches.correlation[calls] == 0])
    rows = np.flatnonzero(np.isin(own, shared))
    if not len(rows):
        return launch
    launch[rows] = NONE
    call_kind = _call_kinds(launches, calls, strings)
    for _, part in split_by_value(own[rows] * 3 + kind[rows]):
        these = rows[part]
        ours = calls[(key == own[these[0]]) & (call_kind == kind[these[0]])]
        ours = ours[_separate(launches, ours)]
        launch[these] = _in_order(
            launches.start_ns[ours], events.start_ns[these], lane[these], ours
        )
    return launch


def _shared_keys(launches: Launches, calls: I64, key: I64, starting: Bools) -> I64:
    """Return the keys that several separate calls of one kind have."""
    order = np.lexsort((launches.start_ns[calls], launches.name[calls], key))
    same = (key[order][1:] == key[order][:-1]) & starting[order][1:] & starting[order][:-1]
    name, thread = launches.name[calls][order], launches.thread[calls][order]
    apart = (thread[1:] != thread[:-1]) | (
        launches.start_ns[calls][order][1:] >= launches.end_ns[calls][order][:-1]
    )
    several = order[1:][same & apart & (name[1:] == name[:-1])]
    return np.unique(key[several])


def _separate(launches: Launches, rows: I64) -> I64:
    """Return the positions of calls, by start, that are in no other one: a driver's call is."""
    order = np.lexsort((-launches.end_ns[rows], launches.start_ns[rows]))
    inside: dict[int, int] = {}
    kept = []
    for at in order.tolist():
        row = rows[at]
        if launches.start_ns[row] >= inside.get(int(launches.thread[row]), -(1 << 62)):
            kept.append(at)
            inside[int(launches.thread[row])] = int(launches.end_ns[row])
    return np.array(kept, np.int64)


def _call_kinds(launches: Launches, calls: I64, strings: Sequence[str]) -> I8:
    copies = named_rows(strings, launches.name[calls], _COPY.search)
    fills = named_rows(strings, launches.name[calls], _FILL.search)
    return np.select((copies, fills), (MEMCPY, MEMSET), KERNEL).astype(np.int8)


def _in_order(made_ns: I64, started_ns: I64, lane: I32, calls: I64) -> I32:
    """Return the call of each activity where order and time leave one; ``NONE`` elsewhere.

    On one stream the k-th activity is of the k-th call or, if activities are missing, of a later
    one; no activity starts before its call. On several streams only time counts.
    """
    order = np.argsort(started_ns, kind="stable")
    latest = np.searchsorted(made_ns, started_ns[order], side="right") - 1
    place = np.arange(len(order))
    last = np.minimum(latest, len(calls) - len(order) + place)
    forced = last == place
    if len(np.unique(lane)) > 1:
        forced = np.logical_and.accumulate(latest == place)
    found = np.full(len(order), NONE, np.int32)
    found[order[forced]] = calls[place[forced]]
    return found
