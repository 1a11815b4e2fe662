"""Join the entries of all ranks' flight recorders into one table of numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace.collective_entries import SCHEDULED, STARTED, CollectiveEntries
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.row_selection import map_rows, places_of
from tb_privateuse1.trace.table import I8, I32, I64, Bools


class RankEntries(Struct, frozen=True):
    """The entries of one rank; strings are places in ``texts``, times are absolute."""

    texts: tuple[str, ...]
    table: CollectiveEntries


class Entries(Struct, frozen=True):
    """The entries of several ranks, by rank and in the order of each; texts are in ``texts``."""

    texts: tuple[str, ...]
    part: I32
    """The index of the rank."""
    group: I32
    """The same for one group on all its ranks."""
    name: I32
    purpose: I32
    members: I32
    group_name: I32
    sequence: I64
    message: Bools
    state: I8
    whole: Bools
    created_ns: I64
    last_ns: I64
    """The latest time of the entry."""
    shapes: I32
    dtypes: I32
    out_shapes: I32
    out_dtypes: I32
    stack: I32

    @property
    def is_open(self) -> Bools:
        """Return which entries had not ended."""
        found: Bools = (self.state == SCHEDULED) | (self.state == STARTED)
        return found

    def text(self, index: int) -> str:
        """Return a text, empty for ``NONE``."""
        return self.texts[index] if index >= 0 else ""

    def ranks_of(self, row: int) -> tuple[int, ...] | None:
        """Return the ranks of an entry's group; None if its dump does not have them."""
        return tuple(json.loads(self.texts[self.members[row]])) if self.members[row] >= 0 else None


def reduce_entries(trace: Trace) -> RankEntries | None:
    """Return the entries of a trace without its other strings; None if there are none."""
    table = trace.collective_entries
    if not len(table):
        return None
    used = np.unique(np.concatenate([getattr(table, name) for name in table.references()]))
    used = used[used >= 0]
    places = {"strings": places_of(used, len(trace.strings))}
    columns = dict(map_rows(table, places).columns())
    for name in ("created_ns", "started_ns", "completed_ns"):
        column = columns[name]
        columns[name] = np.where(column == MISSING, MISSING, column + trace.base_ns)
    return RankEntries(tuple(trace.strings[i] for i in used.tolist()), CollectiveEntries(**columns))


def join_entries(ranks: Sequence[RankEntries | None]) -> Entries:
    """Return the entries of all ranks, with one number for each distinct text."""
    known: dict[str, int] = {}
    tables: list[CollectiveEntries] = []
    parts = [np.empty(0, np.int32)]
    for number, rank in enumerate(ranks):
        if rank is None:
            continue
        place = np.array([known.setdefault(t, len(known)) for t in rank.texts] + [NONE], np.int32)
        tables.append(map_rows(rank.table, {"strings": place}))
        parts.append(np.full(len(rank.table), number, np.int32))
    names = CollectiveEntries.column_types()
    joined = {
        name: np.concatenate([np.empty(0, kind), *(getattr(one, name) for one in tables)])
        for name, kind in names.items()
    }
    pairs = np.stack((joined["group"], joined["members"]))
    group = np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)
    times = np.stack([joined[f"{name}_ns"] for name in ("created", "started", "completed")])
    own = ("name", "purpose", "members", "sequence", "message", "state", "whole", "created_ns",
           "shapes", "dtypes", "out_shapes", "out_dtypes", "stack")  # fmt: skip
    return Entries(
        texts=tuple(known),
        part=np.concatenate(parts),
        group=group.astype(np.int32),
        group_name=joined["group"],
        last_ns=times.max(axis=0, initial=int(MISSING)),
        **{name: joined[name] for name in own},
    )
