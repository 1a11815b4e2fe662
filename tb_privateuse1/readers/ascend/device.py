"""Read the device's side of a database: tasks of streams, and collectives of groups.

A collective lasts as long as its tasks on all planes, which are part of it and left out, as is what
schedules it. Events
have the processes of ``trace_view.json``, so that the same data says what they are
(``Vendor.processes``): which tasks are kernels, which are copies, and which only wait.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.readers.ascend import schema
from tb_privateuse1.readers.ascend.collectives import element_type, elements
from tb_privateuse1.readers.ascend.host import Connections, from_1
from tb_privateuse1.readers.raw import Group
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
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64

GROUPS = "Communication"


def read_tasks(
    database: Database, names: Names, places: Places, links: Connections, first: int
) -> tuple[Group, Times, int]:
    """Return the tasks of streams, with name, unit and cores of their operators."""
    table = database.numbers(
        schema.TASKS,
        ["startNs", "endNs", "deviceId", "connectionId", "globalTaskId", "taskType", "streamId"],
    )
    times = valid_times(table["startNs"], table["endNs"])
    own = ids_of(table["globalTaskId"])[times.rows]
    if database.has(schema.COLLECTIVES):
        tables = (schema.PARTS_OF_COLLECTIVES, schema.SCHEDULES)
        parts = [database.numbers(t, ["globalTaskId"])["globalTaskId"] for t in tables]
        whole = (own == NONE) | ~np.isin(own, np.concatenate(parts))
        times, own = times.take(whole), own[whole]
    row = rows_of(table, times)
    computed = database.numbers(
        schema.COMPUTE, ["globalTaskId", "name", "taskType", "blockNum|blockDim|block_dim"]
    )
    scheduled = database.numbers(schema.SCHEDULES, ["globalTaskId", "name", "taskType"])
    name = unit = names.find(row["taskType"])
    for known in (scheduled, computed):
        at = look_up(known["globalTaskId"], np.arange(len(known["name"])), own, NONE)
        name = _better(name, names.find(known["name"]), at)
        unit = _better(unit, names.find(known["taskType"]), at)
    if (nameless := name < 0).any():  # that may be work or a wait
        named = ~nameless
        times, own, name, unit = times.take(named), own[named], name[named], unit[named]
        row = {key: column[named] for key, column in row.items()}
        times.nameless = int(nameless.sum())
    copies = database.numbers(schema.COPIES, ["globalTaskId", "size"])
    connection = ids_of(row["connectionId"])
    cores = look_up(computed["globalTaskId"], computed["blockNum"], own, ABSENT)
    tasks = group(
        times, name, _streams(places, row["deviceId"], row["streamId"]), first,
        device=ids_of(row["deviceId"]),
        stream=ids_of(row["streamId"]),
        correlation=from_1(connection),
        external_id=links.operator(connection),
        bytes=look_up(copies["globalTaskId"], copies["size"], own, ABSENT),
        unit=unit,
        grid=_grid(names, cores),
    )  # fmt: skip
    return tasks, times, len(table["startNs"])


def read_collectives(
    database: Database,
    names: Names,
    places: Places,
    links: Connections,
    first: int,
    devices: Mapping[str, NDArray[np.signedinteger]],
    group_sizes: Mapping[str, int],
) -> tuple[Group, Times, int]:
    """Return the collectives of groups of ranks, with what they send.

    ``devices`` has the device of each connection and the number of streams; ``group_sizes`` the
    number of ranks by a group's name.
    """
    table = database.numbers(
        schema.COLLECTIVES,
        ["opName", "startNs", "endNs", "connectionId", "groupName", "dataType", "count", "opType",
         "deviceId"],
    )  # fmt: skip
    times = valid_times(table["startNs"], table["endNs"])
    row = rows_of(table, times)
    connection, ranks = ids_of(row["connectionId"]), names.names(row["groupName"])
    device = ids_of(row["deviceId"])
    by_task = look_up(devices["connection"], devices["device"], connection, NONE)
    only = np.unique(devices["device"][devices["device"] >= 0])
    device = np.where(device >= 0, device, by_task)
    if len(only) == 1:
        device = np.where(device >= 0, device, only[0])
    name = names.names(row["opName"])
    sizes = np.array([group_sizes.get(text, ABSENT) for text in names.all] + [ABSENT], np.int64)
    size = sizes[ranks]
    sent, received = elements(names, name, row["count"], size)
    collectives = group(
        times, name, _groups(names, places, device, ranks, int(devices["streams"][0])), first,
        device=device,
        correlation=from_1(connection),
        external_id=links.operator(connection),
        in_elements=sent,
        out_elements=received,
        group_size=size,
        collective=name,
        process_group=np.where(row["groupName"] == ABSENT, NONE, ranks).astype(np.int32),
        element_type=_element_types(database, names, row["dataType"]),
    )  # fmt: skip
    return collectives, times, len(table["startNs"])


def devices_of(database_tasks: Group) -> dict[str, NDArray[np.signedinteger]]:
    """Return the device of each connection of tasks, and one more than the highest stream."""
    streams = int(database_tasks.id("stream").max(initial=NONE)) + 1
    return {
        "connection": database_tasks.id("correlation"),
        "device": database_tasks.id("device"),
        "streams": np.array([streams]),
    }


def _better(known: I32, other: I32, at: I64) -> I32:
    """Return a column with another's values where it has some; ``at`` are the other's rows."""
    found = lookup(other, at, NONE)
    return np.where(found >= 0, found, known).astype(np.int32)


def _streams(places: Places, device: I64, stream: I64) -> I32:
    pairs, code = np.unique(np.stack((device, stream)), axis=1, return_inverse=True)
    rows = [
        places.add(f"device {d}", str(s), f"Stream {s}", schema.HARDWARE)
        for d, s in pairs.T.tolist()
    ]
    return np.array(rows, np.int32)[code.reshape(-1)]


def _groups(names: Names, places: Places, device: I64, ranks: I32, streams: int) -> I32:
    """Return the thread of each collective: one per device and group, after all streams."""
    pairs, code = np.unique(np.stack((device, ranks)), axis=1, return_inverse=True)
    rows = [
        places.add(f"groups {d}", str(streams + i), f"Group {names.all[g]} Communication", GROUPS)
        for i, (d, g) in enumerate(pairs.T.tolist())
    ]
    thread: I32 = np.array(rows, np.int32)[code.reshape(-1)]
    return thread


def _grid(names: Names, cores: I64) -> I32:
    """Return the number of cores as a grid of one dimension, JSON; ``NONE`` if not known."""
    distinct, code = np.unique(cores, return_inverse=True)
    texts = [names.index(f"[{n},1,1]") if 0 < n < 1 << 32 else NONE for n in distinct.tolist()]
    return np.array(texts, np.int32)[code.reshape(-1)]


def _element_types(database: Database, names: Names, column: I64) -> I32:
    """Return torch's name of each element type, ``NONE`` if it has none."""
    ids = database.numbers(schema.ELEMENT_TYPES, ["id"])["id"]
    listed = database.texts(schema.ELEMENT_TYPES, ["name"])
    size = min(len(ids), len(listed))
    known = [element_type(text) for (text,) in listed[:size]]
    index = np.array([names.index(text) if text else NONE for text in known], np.int32)
    return look_up(ids[:size], index, ids_of(column), NONE).astype(np.int32)
