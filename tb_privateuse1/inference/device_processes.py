"""Assign a category to events of a device's own processes.

torch's profiler names the category of each event. A vendor's own tool may write the device and its
runtime as processes of their own, whose events have none (``Vendor.processes``). Their threads are
the streams. The runtime's threads are threads of the host, which they repeat by their tid.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.readers.raw import Group, Raw
from tb_privateuse1.trace.groupby import distinct_values
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, Bools
from tb_privateuse1.trace.vendor import DeviceProcess, Vendor

_NO_CATEGORY = ""


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
            free[rows] = False
            if len(rows) and process.category:
                own = rest.take(rows)
                if vendor.launch_categories.search(process.category):
                    thread = _on_host(raw, process)
                    own = replace(own, thread=thread[own.thread])
                    flows = replace(flows, thread=thread[flows.thread])
                else:
                    own = _on_device(raw, own, process)
                before = [groups[process.category]] if process.category in groups else []
                groups[process.category] = Group.join([*before, own])
    if free.any():
        groups[_NO_CATEGORY] = rest.take(free)
    return replace(raw, groups=groups, flows=flows)


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
    return replace(events, ids={**events.ids, "device": device})


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
