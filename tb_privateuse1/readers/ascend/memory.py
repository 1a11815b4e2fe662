"""Read the blocks of memory of a database or of ``operator_memory.csv``, as memory events.

A row is a block: its allocation, its release, and the allocator's totals at both. It has no address
and no thread. The events get the number of the row as their address, which pairs them, and the
thread on which an operator of the row's name runs then.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.readers.ascend import schema
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.readers.sqlite.columns import Times
from tb_privateuse1.readers.sqlite.database import ABSENT, Database
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64, Bools

_LIMIT_NS = 1 << 62
_MOST_THREADS = 64

COLUMNS = (
    "name", "size", "allocationTime", "releaseTime", "activeReleaseTime",
    "allocationTotalAllocated", "allocationTotalReserved", "releaseTotalAllocated",
    "releaseTotalReserved", "deviceId",
)  # fmt: skip


def read_blocks(database: Database) -> dict[str, I64]:
    """Return the blocks of memory that the database lists, as numbers."""
    return database.numbers(schema.BLOCKS, COLUMNS)


def memory_events(
    blocks: dict[str, I64], name: I32, operators: Group | None, label: int, first: int
) -> tuple[Group, Times]:
    """Return an event for each allocation and release, and the times of the allocations.

    ``name`` are the operators' names, ``label`` is the events' name, ``first`` the number of the
    first row.
    """
    allocated, released = blocks["allocationTime"], _released(blocks)
    valid, is_released = _is_block(blocks), _is_released(blocks)
    rows, back = np.flatnonzero(valid), np.flatnonzero(valid & is_released)
    wrong = int((valid & ~is_released & (released != ABSENT)).sum())
    thread = _threads(operators, name[rows], allocated[rows])
    of_row = np.full(len(allocated), NONE, np.int32)
    of_row[rows] = thread
    both = np.concatenate((rows, back))
    at = np.concatenate((allocated[rows], released[back]))
    device = blocks["deviceId"][both]

    def totals(kind: str) -> I64:
        before, after = blocks[f"allocationTotal{kind}"][rows], blocks[f"releaseTotal{kind}"][back]
        return np.concatenate((before, after))

    events = Group(
        name=np.full(len(both), label, np.int32),
        start_ns=at,
        end_ns=at,
        thread=of_row[both],
        event=(first + both).astype(np.int32) if first >= 0 else np.full(len(both), NONE, np.int32),
        ids={
            "device_type": np.full(len(both), schema.PRIVATEUSE1, np.int64),
            "device_id": np.where(device == ABSENT, 0, device),
            "address": both.astype(np.int64) + 1,
            "memory_bytes": np.concatenate((blocks["size"][rows], -blocks["size"][back])),
            "allocated_bytes": totals("Allocated"),
            "reserved_bytes": totals("Reserved"),
        },
    )
    return events, Times(rows, allocated[rows], allocated[rows], int((~valid).sum()), wrong)


def is_damaged(blocks: dict[str, I64]) -> Bools:
    """Return the rows that are no block, or whose block is released before its allocation."""
    wrong = ~_is_released(blocks) & (_released(blocks) != ABSENT)
    return np.asarray(~_is_block(blocks) | wrong, np.bool_)


def _is_block(blocks: dict[str, I64]) -> Bools:
    allocated = blocks["allocationTime"]
    return np.asarray(
        (allocated > 0) & (allocated < _LIMIT_NS) & (blocks["size"] != ABSENT), np.bool_
    )


def _released(blocks: dict[str, I64]) -> I64:
    released = blocks["releaseTime"]
    return np.where(released == ABSENT, blocks["activeReleaseTime"], released)


def _is_released(blocks: dict[str, I64]) -> Bools:
    released = _released(blocks)
    return np.asarray((released >= blocks["allocationTime"]) & (released < _LIMIT_NS), np.bool_)


def _threads(operators: Group | None, name: I32, at_ns: I64) -> I32:
    """Return the thread on which an operator of a name runs at a time, else the busiest thread."""
    if operators is None or not len(operators):
        return np.zeros(len(name), np.int32)
    threads, count = np.unique(operators.thread, return_counts=True)
    found = np.full(len(name), threads[count.argmax()], np.int32)
    free = np.ones(len(name), np.bool_)
    for thread in threads[np.argsort(-count)][:_MOST_THREADS]:
        mine = operators.take(operators.thread == thread)
        running = free & _is_running(mine, name, at_ns)
        found[running] = thread
        free &= ~running
    return found


def _is_running(operators: Group, name: I32, at_ns: I64) -> Bools:
    """Return whether the last operator of a name that began before an instant runs then."""
    instants, code = np.unique(np.concatenate((operators.start_ns, at_ns)), return_inverse=True)
    step = len(instants)
    key = operators.name.astype(np.int64) * step + code[: len(operators)]
    order = np.argsort(key, kind="stable")
    wanted = name.astype(np.int64) * step + code[len(operators) :]
    row = order[np.maximum(np.searchsorted(key, wanted, side="right", sorter=order) - 1, 0)]
    return np.asarray(
        (name >= 0)
        & (operators.name[row] == name)
        & (operators.start_ns[row] <= at_ns)
        & (operators.end_ns[row] >= at_ns),
        np.bool_,
    )
