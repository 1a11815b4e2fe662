"""Rows that are taken keep their references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.trace.findings import Example, Finding
from tb_privateuse1.trace.inference_basis import InferenceBasis
from tb_privateuse1.trace.model import NONE, TABLES, Meta, Trace
from tb_privateuse1.trace.row_selection import map_rows, take_rows
from tb_privateuse1.trace.table import Rows, Table, declared_types
from tests.support import valid_trace

_ROWS = 4


def filled(kind: type[Table]) -> Any:
    """A table of four rows, the i-th refers to the i-th row of every table."""
    values = {}
    for name, one in declared_types(kind).items():
        column = np.arange(_ROWS).astype(one.dtype)
        if isinstance(one.kind, Rows) and name == "parent":
            column -= 1
        values[name] = column
    return kind(**values)


@pytest.fixture(scope="module")
def trace() -> Trace:
    tables = {name: filled(kind) for name, kind in TABLES.items()}
    examples = tuple(Example("ops", row, "op", "1", 0) for row in range(_ROWS))
    meta = Meta(
        missing_lanes=(1, 3),
        grounds=InferenceBasis("event", "", dropped=(0, 2)),
        findings=(Finding("a", "b", count=9, examples=examples),),
    )
    made = Trace(strings=tuple("abcd"), meta=meta, **tables)
    valid_trace.check(made)
    return made


@pytest.mark.parametrize("cut", TABLES)
def test_each_reference_leads_to_the_same_row(trace: Trace, cut: str) -> None:
    part = take_rows(trace, {cut: np.array([1, 2])})
    valid_trace.check(part)
    for name, kind in TABLES.items():
        table = getattr(part, name)
        own = np.array([1, 2]) if len(table) == 2 else np.arange(_ROWS)
        assert len(table) == (2 if name == cut else len(own))
        for column, one in kind.references().items():
            if one.table == cut:
                was = own - 1 if column == "parent" else own
                expected = np.where((was == 1) | (was == 2), was - 1, NONE)
                assert getattr(table, column).tolist() == expected.tolist(), (name, column)


def test_metadata_refers_to_the_same_rows(trace: Trace) -> None:
    part = take_rows(trace, {"ops": np.array([0, 3]), "lanes": np.array([3])})
    assert part.meta.missing_lanes == (0,)
    assert part.meta.grounds is not None
    assert part.meta.grounds.dropped == (0,)
    (finding,) = part.meta.findings
    assert finding.count == 9
    assert [example.row for example in finding.examples] == [0, 1]


def test_rows_that_need_each_other_leave_together(trace: Trace) -> None:
    """Kernels need their lane, and collectives do not need their kernel."""
    part = take_rows(trace, {"lanes": np.empty(0, np.int64)})
    assert len(part.kernels) == len(part.device_annotations) == 0
    assert (part.collectives.kernel == NONE).all()
    assert len(part.collectives) == _ROWS
    valid_trace.check(part)


def test_strings_are_mapped_and_plain_columns_are_not(trace: Trace) -> None:
    table = replace(trace.ops, shapes=np.full(_ROWS, NONE, np.int32))
    mapped = map_rows(table, {"strings": np.array([3, 2, 1, 0, NONE])})
    assert mapped.name.tolist() == [3, 2, 1, 0]
    assert mapped.shapes.tolist() == [NONE] * _ROWS
    assert mapped.event is table.event
    assert mapped.name.dtype == np.int32
