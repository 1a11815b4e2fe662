"""Read the host's side of a database: operators, frames, a task queue and calls of the runtime."""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.readers.ascend import schema
from tb_privateuse1.readers.ascend.inputs import sizes_as_json, types_as_json
from tb_privateuse1.readers.raw import Flows, Group
from tb_privateuse1.readers.sqlite.columns import (
    Names,
    Places,
    Times,
    group,
    ids_of,
    look_up,
    rows_of,
    valid_times,
)
from tb_privateuse1.readers.sqlite.database import ABSENT, Database
from tb_privateuse1.trace.columns import following, starts_run
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.step_names import step_strings
from tb_privateuse1.trace.table import I32, I64

_QUEUED = re.compile(r"^(Enqueue|Dequeue)(@|$)")


class Connections:
    """The operator from which each launch came: ``CONNECTION_IDS``, without the queue's ids."""

    def __init__(self, database: Database) -> None:
        table = database.numbers(schema.CONNECTIONS, ["id", "connectionId"])
        self._id, self._connection = ids_of(table["id"]), ids_of(table["connectionId"])
        self._operators = np.empty(0, np.int64)

    def claim(self, operators: I64) -> None:
        """Take the connections of operators; others lead to ranges that do not launch."""
        self._operators = np.unique(operators)

    def operator(self, connection: I64) -> I64:
        """Return the operator's id of each launch, ``NONE`` if there is none."""
        launches = self._connection < schema.FIRST_HOST_CONNECTION
        mine = launches & np.isin(self._id, self._operators)
        return from_1(look_up(self._connection[mine], self._id[mine], connection, NONE))

    def between_ranges(self, ids: I64) -> I64:
        """Return the connection of each id, ``NONE`` if it is not one between host ranges."""
        found = look_up(self._id, self._connection, ids, NONE)
        return np.where(found >= schema.FIRST_HOST_CONNECTION, found, NONE)


def from_1(connection: I64) -> I64:
    """Return the tool's numbers, which begin at 0, as torch has them: 0 is no number there."""
    return np.where(connection >= 0, connection + 1, NONE)


def read_ranges(
    database: Database, names: Names, places: Places, links: Connections, first: int
) -> tuple[dict[str, Group], Flows, Times, int]:
    """Return operators, frames, a queue's tasks, its arrows, and the table's times and length."""
    table = database.numbers(
        schema.OPS,
        ["startNs", "endNs", "globalTid", "connectionId", "name", "sequenceNumber", "fwdThreadId",
         "inputDtypes", "inputShapes", "callchainId", "type"],
    )  # fmt: skip
    times = valid_times(table["startNs"], table["endNs"])
    row = rows_of(table, times)
    name, thread = names.names(row["name"]), threads(places, row["globalTid"])
    named = names.matching(name, lambda text: _QUEUED.match(text) is not None)
    queued = (row["type"] == schema.QUEUE) | ((row["type"] == ABSENT) & named)
    dequeued = queued & names.matching(name, lambda text: text.startswith("Dequeue"))
    frames = row["type"] == schema.FRAME
    operators = ~queued & ~frames
    connection = ids_of(row["connectionId"])
    links.claim(connection[operators])
    events = group(
        times, name, thread, first,
        external_id=np.where(operators, from_1(connection), NONE),
        sequence=np.where(row["sequenceNumber"] == ABSENT, NONE, row["sequenceNumber"]),
        forward_thread=np.where(row["fwdThreadId"] == ABSENT, NONE, row["fwdThreadId"]),
        shapes=names.convert(names.find(row["inputShapes"]), sizes_as_json),
        dtypes=names.convert(names.find(row["inputDtypes"]), types_as_json),
        stack=_stacks(database, names, row["callchainId"]),
    )  # fmt: skip
    kinds = {"cpu_op": operators, "python_function": frames, "enqueue": queued & ~dequeued}
    kinds["dequeue"] = dequeued
    groups = {kind: events.take(mask) for kind, mask in kinds.items() if mask.any()}
    link = np.where(queued, links.between_ranges(connection), NONE)
    arrows = np.flatnonzero(link >= 0)
    flows = Flows(
        category=np.full(len(arrows), names.index("async_task_queue"), np.int32),
        id=link[arrows],
        ts_ns=times.start_ns[arrows],
        thread=thread[arrows],
        finish=dequeued[arrows].astype(np.int32),
    )
    return groups, flows, times, len(table["startNs"])


def read_calls(
    database: Database, names: Names, places: Places, links: Connections, first: int
) -> tuple[Group, Times, int]:
    """Return the calls of the runtime, named by level as in ``trace_view.json``."""
    table = database.numbers(
        schema.CALLS, ["startNs", "endNs", "type", "globalTid", "connectionId", "name"]
    )
    times = valid_times(table["startNs"], table["endNs"])
    row = rows_of(table, times)
    pairs = np.stack((row["type"], names.names(row["name"]).astype(np.int64)))
    distinct, code = np.unique(pairs, axis=1, return_inverse=True)
    titles = [_title(level, names.all[name]) for level, name in distinct.T.tolist()]
    title = np.array([names.index(text) for text in titles], np.int32)[code.reshape(-1)]
    connection = ids_of(row["connectionId"])
    calls = group(
        times, title, threads(places, row["globalTid"]), first,
        correlation=from_1(connection),
        external_id=links.operator(connection),
    )  # fmt: skip
    return calls, times, len(table["startNs"])


def read_marks(
    database: Database, names: Names, places: Places, first: int
) -> tuple[Group, Times, int]:
    """Return the ranges that a program named; the library's own have JSON as their names."""
    table = database.numbers(schema.MARKS, ["startNs", "endNs", "globalTid", "message"])
    times = valid_times(table["startNs"], table["endNs"])
    name = names.names(table["message"][times.rows])
    marks = group(times, name, threads(places, table["globalTid"][times.rows]), first)
    ranges = times.end_ns > times.start_ns
    ranges &= ~names.matching(name, lambda text: text.startswith("{"))
    return marks.take(ranges), times, len(table["startNs"])


def read_steps(
    database: Database, names: Names, places: Places, operators: Group | None, first: int
) -> tuple[Group | None, Times, int]:
    """Return the steps on a thread of their own; None if there are some among the operators."""
    table = database.numbers(schema.STEPS, ["id", "startNs", "endNs"])
    times = valid_times(table["startNs"], table["endNs"])
    known = operators is not None and bool(step_strings(names.all)[operators.name].any())
    if known or not len(times.rows):
        return None, times, len(table["id"])
    numbers = table["id"][times.rows].tolist()
    name = np.array([names.index(f"ProfilerStep#{n}") for n in numbers], np.int32)
    thread = np.full(len(name), places.add("0", "0", "Steps", "Python"), np.int32)
    return group(times, name, thread, first), times, len(table["id"])


def threads(places: Places, global_tid: I64) -> I32:
    """Return the thread of each id, whose upper half is the process."""
    return places.host(global_tid >> 32, np.where(global_tid >= 0, global_tid & 0xFFFFFFFF, 0))


def _title(level: int, name: str) -> str:
    known = schema.LEVELS.get(level)
    return f"{known}@{name}" if known and "@" not in name else name


def _stacks(database: Database, names: Names, chain: I64) -> I32:
    """Return the text of each call stack; equal ones are joined once."""
    table = database.numbers(schema.STACKS, ["id", "stack", "stackDepth"])
    wanted = ids_of(chain)
    if not len(table["id"]) or not (wanted >= 0).any():
        return np.full(len(chain), NONE, np.int32)
    order = np.lexsort((table["stackDepth"], table["id"]))
    number, depth = table["id"][order], table["stackDepth"][order].astype(np.uint64)
    frame = names.find(table["stack"])[order]
    first = np.flatnonzero(starts_run(number))
    ends = following(first, len(number))
    # A stack's digest is a sum over its frames and their depths: equal stacks have equal digests.
    place = (depth + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (frame.astype(np.uint64) + np.uint64(2)) * (place ^ (place >> np.uint64(29)))
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    digest = np.add.reduceat(mixed ^ (mixed >> np.uint64(29)), first)
    _, kept, code = np.unique(digest, return_index=True, return_inverse=True)
    texts = []
    for at in kept.tolist():
        frames = [names.all[f] for f in frame[first[at] : ends[at]].tolist() if f >= 0]
        texts.append(names.index(";".join(frames)) if frames else NONE)
    text = np.array(texts, np.int32)[code.reshape(-1)]
    return look_up(number[first], text, wanted, NONE).astype(np.int32)
