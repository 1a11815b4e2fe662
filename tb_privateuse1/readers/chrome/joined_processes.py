"""Tell apart the recordings of several processes in one file, by what the file itself shows.

A profiler of torch records one process, so operators of several are recordings that were joined.
Host events say their process. An activity of a device does not: its process may be ``0`` for all.
It is known in two cases, and in no other one:

* The recordings stand one behind the other: no process has host events between those of another.
  Activities between two of them belong to the earlier one if its calls explain them.
* Exactly one assignment of streams to processes is possible: a process explains each activity of
  its streams, no call of it started two activities, and each launch started some.

A call that starts work explains an activity of its correlation that begins later; that of a graph
starts many, another one starts one. A process with such calls has activities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.readers.chrome import file_reading
from tb_privateuse1.readers.raw import MISSING_OF, Counters, Group, Raw
from tb_privateuse1.trace.columns import starts_run
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.groupby import distinct_values, group_rows, named_rows
from tb_privateuse1.trace.table import I32, I64, Bools

_OPERATORS = frozenset({"cpu_op", "operator"})
_CALLS = re.compile(r"(runtime|driver)$", re.IGNORECASE)
_DEVICE = re.compile(r"kernel|^gpu_(?!user_)|memcpy|memset", re.IGNORECASE)
_STARTS = re.compile(r"launch|memcpy|memset", re.IGNORECASE)
_LAUNCHES = re.compile("launch", re.IGNORECASE)
_GRAPH = re.compile("graph", re.IGNORECASE)
_MOST_STREAMS = 64
"""Beyond it no assignment is sought: eight devices have fewer."""
_MOST_PROCESSES = 256
"""Beyond it none is separated, since each costs a pass over all events. 256 ranks fill 32 nodes of
eight devices, and a job of that size writes a file by rank."""
_NOBODY = -1
_LABEL = "process "
"""Begins the label of a recording by its process; labels of ranks are those in the file."""


class _Found(Struct, frozen=True):
    """The host processes (rows of ``Raw.strings``), and whose each event number is."""

    pids: tuple[int, ...]
    owner: I32
    """By event number: an index into ``pids``, or ``_NOBODY``."""


def labels_in(path: str) -> tuple[str, ...]:
    """Return the labels of a file's recordings, in its order, for ``of_label``.

    Empty if it has one process, cannot be read, or if nothing tells whose an activity is.
    """
    try:
        raw = file_reading.read(path, None)
    except (TraceError, OSError):  # the reader says so
        return ()
    found = _find(raw)
    return tuple(_LABEL + raw.strings[pid] for pid in found.pids) if found else ()


def of_label(raw: Raw, label: str) -> Raw:
    """Return what a file has of one of its recordings: that of a label, as discovery has it.

    The metadata's rank is that of another recording; counters have no process.
    """
    process = label.removeprefix(_LABEL)
    if process == label:
        return raw.of_processes(label)
    found = _find(raw)
    known = [raw.strings[pid] for pid in found.pids] if found else []
    if found is None or process not in known:
        return raw
    one = known.index(process)
    events = np.flatnonzero(found.owner == one)
    groups = {c: group.take(np.isin(group.event, events)) for c, group in raw.groups.items()}
    threads = np.flatnonzero(raw.threads.pid == found.pids[one])
    return replace(
        raw,
        groups={category: group for category, group in groups.items() if len(group)},
        memory=raw.memory.take(np.isin(raw.memory.thread, threads)),
        flows=raw.flows.take(np.isin(raw.flows.thread, threads)),
        metadata=raw.metadata_without_rank(),
        counters=Counters(),
        findings=(*raw.findings, _note(process, len(known))),
    )


def _note(process: str, count: int) -> Finding:
    message = say(
        "This is process {process}, one of {count:,} whose recordings were joined in one file.",
        process=process,
        count=count,
    )
    hint = say("Their order in the file or their own calls tell whose activities are on a stream.")
    return Finding("separated_process", message, hint, count, "info")


def _find(raw: Raw) -> _Found | None:
    """Return whose each event is; None with one process, or if that is not known."""
    own = (g.thread for c, g in raw.groups.items() if c.lower() in _OPERATORS)
    pids = np.unique(
        raw.threads.pid[distinct_values(np.concatenate([*own, np.empty(0, np.int32)]))]
    )
    if not 2 <= len(pids) <= _MOST_PROCESSES:
        return None
    events = Group.join(list(raw.groups.values()), MISSING_OF)
    events = events.take(np.argsort(events.event, kind="stable"))
    place = np.searchsorted(pids, raw.threads.pid[events.thread])
    at = np.minimum(place, len(pids) - 1)
    process = np.where(pids[at] == raw.threads.pid[events.thread], at, _NOBODY).astype(np.int32)
    work = _activities(raw, events)
    calls = _calls(raw)
    explained = np.stack([_explained(raw, events, work, calls, pid) for pid in pids.tolist()])
    graphs = [_graph_numbers(raw, calls, pid) for pid in pids.tolist()]
    busy = np.flatnonzero(np.isin(pids, raw.threads.pid[calls.thread]))
    owner = _by_order(events, process, work, explained)
    if owner is None or not _is_possible(events, work, owner, graphs, busy):
        owner = _by_streams(raw, events, process, work, explained, graphs)
        if owner is not None and _has_lost(raw, events, work, owner, calls, pids):
            return None
    if owner is None or not _is_possible(events, work, owner, graphs, busy):
        return None
    first = [int(events.event[np.argmax(process == i)]) for i in range(len(pids))]
    order = np.argsort(first, kind="stable")
    renamed = np.append(np.argsort(order), _NOBODY)[owner]
    by_event = np.full(int(events.event.max()) + 1, _NOBODY, np.int32)
    by_event[events.event] = renamed
    return _Found(tuple(pids[order].tolist()), by_event)


def _activities(raw: Raw, events: Group) -> Bools:
    """Return which events are a device's, by their categories."""
    numbers = [g.event for c, g in raw.groups.items() if _DEVICE.search(c)]
    found: Bools = np.isin(events.event, np.concatenate([*numbers, np.empty(0, np.int32)]))
    return found


def _calls(raw: Raw) -> Group:
    """Return the calls that start work on a device and have a correlation."""
    calls = Group.join([g for c, g in raw.groups.items() if _CALLS.search(c)], MISSING_OF)
    starting = named_rows(raw.strings, calls.name, _STARTS.search)
    return calls.take(starting & (calls.id("correlation") > 0))


def _explained(raw: Raw, events: Group, work: Bools, calls: Group, pid: int) -> Bools:
    """Return which activities have a call of a process with their number that began earlier."""
    own = calls.take(raw.threads.pid[calls.thread] == pid)
    found = np.zeros(len(events), np.bool_)
    if not len(own):
        return found
    order = np.lexsort((own.start_ns, own.id("correlation")))
    number, start = own.id("correlation")[order], own.start_ns[order]
    wanted = events.id("correlation")
    at = np.minimum(np.searchsorted(number, wanted), len(number) - 1)
    earlier: Bools = work & (number[at] == wanted) & (start[at] <= events.start_ns)
    return earlier


def _graph_numbers(raw: Raw, calls: Group, pid: int) -> I64:
    """Return the correlations of a process's calls that may start many activities."""
    graph = named_rows(raw.strings, calls.name, _GRAPH.search)
    own: Bools = graph & (raw.threads.pid[calls.thread] == pid)
    return calls.take(own).id("correlation")


def _by_order(events: Group, process: I32, work: Bools, explained: Bools) -> I32 | None:
    """Return whose each event is if the recordings stand one behind the other, else None."""
    place = np.arange(len(process))
    host = np.flatnonzero(process >= 0)
    if int(starts_run(process[host]).sum()) > len(explained):
        return None
    last = np.searchsorted(host, place, side="right") - 1
    owner = process[host][np.maximum(last, 0)]
    following = np.append(process[host], _NOBODY)[last + 1]
    own = explained[owner, place]
    # Behind its last host event a recording has what its calls explain, and what precedes that.
    sure = np.flatnonzero(own | (process >= 0))
    reach = sure[np.minimum(np.searchsorted(sure, place), len(sure) - 1)]
    between = (following != owner) | (last < 0)
    beyond = between & ((owner[reach] != owner) | (reach < place))
    # In a file by time, work of the first recording may begin behind the start of the second.
    is_by_time = bool((np.diff(events.start_ns) >= 0).all())
    doubtful = work & ~own & (explained.any(axis=0) | beyond | is_by_time)
    # A next recording may begin with an activity: its calls have others then. Those may be of the
    # one behind it in the same way, but not those of the last one, so that none is.
    number, count = events.id("correlation"), len(explained) + 1
    other = between & work & own & (following >= 0) & explained[following, place]
    theirs = number * count + following
    doubtful |= other & ~np.isin(theirs, (number * count + owner)[work])
    return None if doubtful.any() else owner.astype(np.int32)


def _is_possible(events: Group, work: Bools, owner: I32, graphs: list[I64], busy: I64) -> bool:
    """Return whether no call started two activities, and each process with such calls has some."""
    if not np.isin(busy, owner[work]).all():
        return False
    number = events.id("correlation")
    rows = np.flatnonzero(work & (number > 0))
    many = np.zeros(len(rows), np.bool_)
    for one, numbers in enumerate(graphs):
        many |= (owner[rows] == one) & np.isin(number[rows], numbers)
    rows = rows[~many]
    first, _ = group_rows(number[rows], owner[rows])
    return len(first) == len(rows)


def _has_lost(raw: Raw, events: Group, work: Bools, owner: I32, calls: Group, pids: I32) -> bool:
    """Return whether a launch left no activity: another one of its number may be in its place."""
    launches = calls.take(named_rows(raw.strings, calls.name, _LAUNCHES.search))
    whose = np.searchsorted(pids, raw.threads.pid[launches.thread])
    is_own = pids[np.minimum(whose, len(pids) - 1)] == raw.threads.pid[launches.thread]
    made = launches.id("correlation") * len(pids) + whose
    done = (events.id("correlation") * len(pids) + owner)[work]
    return bool((~np.isin(made, done))[is_own].any())


def _by_streams(
    raw: Raw, events: Group, process: I32, work: Bools, explained: Bools, graphs: list[I64]
) -> I32 | None:
    """Return whose each event is if one assignment of the streams is possible, else None."""
    rows = np.flatnonzero(process < 0)
    _, stream = group_rows(
        events.id("device")[rows], events.id("stream")[rows], raw.threads.pid[events.thread[rows]],
        raw.threads.tid[events.thread[rows]],
    )  # fmt: skip
    used = distinct_values(stream[work[rows]]).tolist()
    if not used or len(used) > _MOST_STREAMS:
        return None
    able: dict[int, list[int]] = {}
    for one in used:
        own = rows[(stream == one) & work[rows]]
        able[one] = np.flatnonzero(explained[:, own].all(axis=1)).tolist()
    numbers = {one: _numbers(events, rows[(stream == one) & work[rows]]) for one in used}
    found = list(_first_two(_assignments(able, numbers, graphs, {})))
    if len(found) != 1:
        return None
    owner = process.copy()
    for one, whose in found[0].items():
        owner[rows[stream == one]] = whose
    return owner


def _numbers(events: Group, rows: I64) -> frozenset[int]:
    found = events.id("correlation")[rows]
    return frozenset(found[found > 0].tolist())


def _assignments(
    able: Mapping[int, list[int]],
    numbers: Mapping[int, frozenset[int]],
    graphs: list[I64],
    chosen: Mapping[int, int],
) -> Iterator[Mapping[int, int]]:
    """Yield the owners of all streams under which no call starts activities of two streams."""
    left = [one for one in able if one not in chosen]
    if not left:
        yield chosen
        return
    stream = min(left, key=lambda one: len(able[one]))
    for whose in able[stream]:
        mine = numbers[stream].difference(graphs[whose].tolist())
        others = [numbers[one] for one, other in chosen.items() if other == whose]
        if not any(mine & taken for taken in others):
            yield from _assignments(able, numbers, graphs, {**chosen, stream: whose})


def _first_two(found: Iterable[Mapping[int, int]]) -> Iterator[Mapping[int, int]]:
    for _, one in zip(range(2), found, strict=False):
        yield one
