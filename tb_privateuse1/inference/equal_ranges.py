"""Nest or separate ranges with equal start times, as coarse clocks record them.

With a clock of whole microseconds, calls one after the other can begin in the same one. torch
numbers a range when it begins (its External id): the one with the lower number is not inside. A
range of a microsecond or more encloses what began after it: the second call of two would have begun
when the first had ended. Of empty ranges, only what the trace has elsewhere tells.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.readers.raw import Group
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64, Bools


def by_ids(order: I64, ranges: Group) -> I64:
    """Return a nesting order with ``ranges`` of one start in the order of their External ids.

    ``ranges`` are the first rows of those that are in order. Ranges without ids keep their places.
    """
    slots = np.flatnonzero(order < len(ranges))
    rows = order[slots]
    start, ids = ranges.start_ns[rows], ranges.id("external_id")[rows]
    same = (start[1:] == start[:-1]) & (ranges.thread[rows[1:]] == ranges.thread[rows[:-1]])
    if not (same & (ids[:-1] > ids[1:])).any():
        return order
    run = np.cumsum(np.append(True, ~same))
    without = np.unique(run[ids <= 0])
    turned = np.flatnonzero(~np.isin(run, without))
    order[slots[turned]] = rows[turned[np.lexsort((ids[turned], run[turned]))]]
    return order


class EqualRanges(Struct, frozen=True):
    """The empty ranges whose parent is empty too and starts at the same time."""

    row: I64
    known: Bools
    """Whether the trace has ranges with the parent's name that are not empty."""
    nested: Bools
    """Whether such a range encloses one with the row's name."""
    same_name: Bools


def find_equal(parent: I32, name: I32, start_ns: I64, duration_ns: I64, own: Bools) -> EqualRanges:
    """Return the equal ranges among the ``own`` ones, in the order of the rows."""
    rows = np.flatnonzero((duration_ns == 0) & own & (parent >= 0))
    up = parent[rows]
    rows = rows[(duration_ns[up] == 0) & own[up] & (start_ns[up] == start_ns[rows])]
    if not len(rows):
        nothing = np.zeros(0, np.bool_)
        return EqualRanges(rows, nothing, nothing, nothing)
    long = own & (duration_ns > 0)
    inside = np.flatnonzero(own & (parent >= 0))
    inside = inside[long[parent[inside]]]
    names = int(name.max()) + 2
    pairs = np.unique(name[parent[inside]].astype(np.int64) * names + name[inside])
    up = parent[rows]
    return EqualRanges(
        rows,
        known=np.isin(name[up], np.unique(name[long])),
        nested=np.isin(name[up].astype(np.int64) * names + name[rows], pairs),
        same_name=name[up] == name[rows],
    )


def part_siblings(parent: I32, equal: EqualRanges) -> I32:
    """Return the parents, with siblings among equal ranges beside each other.

    They are siblings if the parent's name never encloses the row's where both have a length, or if
    it never has one and both have one name.
    """
    sibling = np.where(equal.known, ~equal.nested, equal.same_name)
    rows = equal.row[sibling]
    if not len(rows):
        return parent
    parent = parent.copy()
    for row in rows.tolist():  # in order: each parent is right already
        parent[row] = parent[parent[row]] if parent[row] >= 0 else NONE
    return parent
