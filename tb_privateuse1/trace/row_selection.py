"""Take some rows of a trace's tables; references between tables are kept.

The types of the columns say what refers to what (``columns``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import NONE, TABLES, Meta, Trace
from tb_privateuse1.trace.table import I32, I64, Table

_Table = TypeVar("_Table", bound=Table)


def take_rows(trace: Trace, rows: Mapping[str, I64]) -> Trace:
    """Return the trace with these rows of some tables, in ascending order.

    Of each table, rows that need one that is left out are left out too. An optional reference to
    such a row is ``NONE``.
    """
    taken = _with_needed(trace, rows)
    places = {name: places_of(own, len(getattr(trace, name))) for name, own in taken.items()}
    tables: dict[str, Any] = {}
    for name, kind in TABLES.items():
        table = getattr(trace, name)
        part = table.take(taken[name]) if name in taken else table
        if name in taken or any(one.table in taken for one in kind.references().values()):
            tables[name] = map_rows(part, places)
    return replace(trace, meta=_map_meta(trace.meta, places), **tables)


def map_rows(table: _Table, places: Mapping[str, NDArray[Any]]) -> _Table:
    """Return a table whose references are replaced.

    ``places`` has the new row by the old one for some tables, or ``strings``; its last entry stands
    for ``NONE``.
    """
    mapped: dict[str, Any] = {
        name: places[one.table][getattr(table, name)].astype(table.column_types()[name])
        for name, one in table.references().items()
        if one.table in places
    }
    return replace(table, **mapped) if mapped else table


def places_of(rows: I64, count: int) -> I32:
    """Return the new row of each of ``count`` rows; ``NONE`` for others and, last, for ``NONE``."""
    found = np.full(count + 1, NONE, np.int32)
    found[rows] = np.arange(len(rows))
    return found


def _with_needed(trace: Trace, rows: Mapping[str, I64]) -> dict[str, I64]:
    """Return the rows of each table that is cut, without those that need rows left out."""
    taken = dict(rows)
    changed = True
    while changed:
        changed = False
        for name, kind in TABLES.items():
            table = getattr(trace, name)
            own = taken.get(name, np.arange(len(table)))
            whole = np.ones(len(own), np.bool_)
            for column, one in kind.references().items():
                if one.table in taken and not one.optional:
                    whole &= np.isin(getattr(table, column)[own], taken[one.table])
            if not whole.all():
                taken[name], changed = own[whole], True
    return taken


def _map_meta(meta: Meta, places: Mapping[str, I32]) -> Meta:
    """Return the metadata with the new rows of its lanes, operators and examples."""
    grounds = meta.grounds
    if grounds is not None and "ops" in places:
        dropped = places["ops"][np.array(grounds.dropped, np.int64)]
        grounds = replace(grounds, dropped=tuple(dropped[dropped >= 0].tolist()))
    missing = meta.missing_lanes
    if "lanes" in places:
        missing = tuple(int(places["lanes"][row]) for row in missing if places["lanes"][row] >= 0)
    findings = tuple(_map_examples(finding, places) for finding in meta.findings)
    return replace(meta, grounds=grounds, missing_lanes=missing, findings=findings)


def _map_examples(finding: Finding, places: Mapping[str, I32]) -> Finding:
    examples = []
    for example in finding.examples:
        row = int(places[example.table][example.row]) if example.table in places else example.row
        if row >= 0:
            examples.append(replace(example, row=row))
    return replace(finding, examples=tuple(examples))
