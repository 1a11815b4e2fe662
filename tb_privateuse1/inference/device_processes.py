"""Assign a category to events of a device's own processes.

torch's profiler names the category of each event. A vendor's own tool may write the device and its
runtime as processes of their own, whose events have none (``Vendor.processes``). Their threads are
the streams, unless ``DeviceProcess.onto`` says otherwise. The runtime's threads are threads of the
host, which they repeat by their tid.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.readers.raw import MISSING_OF, Group, Raw
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.findings import DEVICE, LONGEST_INLINE, Finding
from tb_privateuse1.trace.groupby import distinct_values, named_rows
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.step_names import PREFIX, step_strings
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.trace.vendor import DeviceProcess, Vendor

_NO_CATEGORY = ""
_CONTROL_FLOW = "gpu_user_annotation"
"""The category of a device's ranges around its work."""

_NUMBER = re.compile(r"[0-9]{1,18}")
"""Any number of as many digits fits into int64."""


def name_categories(raw: Raw, known: Sequence[Vendor]) -> Raw:
    """Return raw columns in which events of vendors' processes have categories.

    What no process of ``known`` vendors matches keeps none.
    """
    rest = raw.groups.get(_NO_CATEGORY)
    if rest is None or not raw.process_names:
        return raw
    groups = {c: group for c, group in raw.groups.items() if c != _NO_CATEGORY}
    free = np.ones(len(rest), np.bool_)
    flows = raw.flows
    for vendor in known:
        for process in vendor.processes:
            rows = np.flatnonzero(free & _matches(raw, rest, process))
            if process.steps:
                rows = rows[_are_steps(raw, rest.take(rows), process)]
            if process.onto is not None:
                stream = _streams(raw, process.onto)
                rows = rows[stream[raw.threads.pid[rest.thread[rows]]] >= 0]
            if process.without is not None:
                rows = rows[~_has_finer(raw, rest, process.without)[rest.thread[rows]]]
                raw = _with_coarse(raw, rest.take(rows))
            free[rows] = False
            if len(rows) and process.category:
                own = rest.take(rows)
                if vendor.launch_categories.search(process.category):
                    thread = _on_host(raw, process)
                    own = replace(own, thread=thread[own.thread])
                    flows = replace(flows, thread=thread[flows.thread])
                elif process.steps:
                    raw, own = _as_steps(raw, own)
                else:
                    own = _on_device(raw, own, process)
                around = _around_others(own) if process.nests else np.zeros(len(own), np.bool_)
                _add(groups, _CONTROL_FLOW, own.take(around))
                _add(groups, process.category, own.take(~around))
    if free.any():
        groups[_NO_CATEGORY] = rest.take(free)
    return replace(raw, groups=groups, flows=flows)


def _add(groups: dict[str, Group], category: str, events: Group) -> None:
    if len(events):
        before = [groups[category]] if category in groups else []
        groups[category] = Group.join([*before, events], MISSING_OF)


def _around_others(events: Group) -> Bools:
    """Return which events are around others of their thread."""
    parent = intervals.nest(events.thread, events.start_ns, events.end_ns)
    return mask_of(parent, len(events))


def _are_steps(raw: Raw, events: Group, process: DeviceProcess) -> Bools:
    """Return which events are steps: the first process's with a number, if no other steps are."""
    if not len(events) or step_strings(raw.strings).any():
        return np.zeros(len(events), np.bool_)
    first = raw.strings.index(_pids(raw, process)[0])
    names = [n for n in distinct_values(events.name).tolist() if _NUMBER.fullmatch(raw.strings[n])]
    found: Bools = np.isin(events.name, names) & (raw.threads.pid[events.thread] == first)
    return found


def _as_steps(raw: Raw, events: Group) -> tuple[Raw, Group]:
    """Return numbered events with the names of steps, and the columns with these names."""
    numbers = distinct_values(events.name)
    added = tuple(PREFIX + raw.strings[name] for name in numbers.tolist())
    names = np.arange(len(raw.strings), dtype=np.int32)
    names[numbers] = len(raw.strings) + np.arange(len(numbers))
    return replace(raw, strings=raw.strings + added), replace(events, name=names[events.name])


def _matches(raw: Raw, events: Group, process: DeviceProcess) -> Bools:
    """Return which events a process matches."""
    threads = raw.threads
    of_process = np.isin(threads.pid, [raw.strings.index(pid) for pid in _pids(raw, process)])
    if process.threads is not None:
        of_process &= [n >= 0 and bool(process.threads.search(raw.strings[n]))
                       for n in threads.name.tolist()]  # fmt: skip
    found: Bools = of_process[events.thread]
    if process.events is not None:
        names = distinct_values(events.name[found]).tolist()
        found &= np.isin(events.name, [n for n in names if process.events.search(raw.strings[n])])
    return found


def _pids(raw: Raw, process: DeviceProcess) -> list[str]:
    """Return the pids of a process's name that have threads, in order of their numbers."""
    with_threads = {raw.strings[pid] for pid in distinct_values(raw.threads.pid).tolist()}
    pids = [pid for pid, name in raw.process_names.items() if process.names.search(name)]
    return sorted(with_threads.intersection(pids), key=lambda pid: (len(pid), pid))


def _on_device(raw: Raw, events: Group, process: DeviceProcess) -> Group:
    """Return events with the number of their device: processes of a name by their pids.

    A device that the events name themselves counts.
    """
    number = {raw.strings.index(pid): i for i, pid in enumerate(_pids(raw, process))}
    device = np.array([number.get(pid, NONE) for pid in raw.threads.pid.tolist()], np.int64)
    own = events.id("device")
    device = np.where(own >= 0, own, device[events.thread])
    ids = {**events.ids, "device": device}
    if process.onto is not None:
        stream = _streams(raw, process.onto)[raw.threads.pid[events.thread]]
        ids["stream"] = np.where(stream >= 0, stream, events.id("stream"))
    return replace(events, ids=ids)


def _has_finer(raw: Raw, events: Group, wanted: re.Pattern[str]) -> Bools:
    """Return by thread whether its process has events on a thread of a wanted name."""
    rows = distinct_values(events.thread)
    named = named_rows(raw.strings, raw.threads.name[rows], wanted.search)
    found: Bools = np.isin(raw.threads.pid, raw.threads.pid[rows[named]])
    return found


def _with_coarse(raw: Raw, events: Group) -> Raw:
    """Return the columns with a finding about events that stand for the work inside of them."""
    if not len(events):
        return raw
    thread = raw.strings[raw.threads.name[events.thread[0]]]
    message = say(
        "{count:,} ranges of the row {name!r} stand for the work of the device: the file has no "
        "operations inside of them.",
        count=len(events),
        name=shorten(thread, LONGEST_INLINE),
    )
    hint = say("The device may have waited inside of them: its busy times are upper bounds.")
    finding = Finding("coarse_activities", message, hint, len(events), "warning", DEVICE)
    return replace(raw, findings=(*raw.findings, finding))


def _streams(raw: Raw, wanted: re.Pattern[str]) -> I64:
    """Return by pid the number of its last thread of a wanted name; ``NONE`` without one."""
    streams = np.full(len(raw.strings), NONE, np.int64)
    for row in range(len(raw.threads)):
        name, tid = int(raw.threads.name[row]), raw.strings[raw.threads.tid[row]]
        if name >= 0 and wanted.search(raw.strings[name]) and _NUMBER.fullmatch(tid):
            streams[raw.threads.pid[row]] = int(tid)
    return streams


def _on_host(raw: Raw, process: DeviceProcess) -> I32:
    """Return for each thread of a process the one with the same tid that has categories.

    Other threads stay themselves.
    """
    threads = raw.threads
    of_tid: dict[int, int] = {}
    for category, group in raw.groups.items():
        if category != _NO_CATEGORY:
            for row in distinct_values(group.thread).tolist():
                of_tid.setdefault(int(threads.tid[row]), row)
    own = {raw.strings.index(pid) for pid in _pids(raw, process)}
    pairs = zip(threads.pid.tolist(), threads.tid.tolist(), strict=True)
    rows = [of_tid.get(tid, row) if pid in own else row for row, (pid, tid) in enumerate(pairs)]
    return np.array(rows, np.int32)
