"""Each integer of the model is a reference or plain; the one check finds what breaks that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.trace.model import TABLES, Meta, Trace
from tb_privateuse1.trace.table import I32, Table, declared_types
from tests.support import make, valid_trace


class Undeclared(Table, frozen=True):
    """A table of the model in which somebody forgot what the integers are."""

    op: I32


def undeclared(kind: type[Table]) -> list[str]:
    types = declared_types(kind)
    return [
        name
        for name, one in types.items()
        if one.kind is None and np.issubdtype(one.dtype, np.integer)
    ]


@pytest.mark.parametrize("name", TABLES)
def test_every_integer_is_a_reference_or_plain(name: str) -> None:
    kind = TABLES[name]
    assert undeclared(kind) == []
    assert {one.table for one in kind.references().values()} <= {"strings", *TABLES}
    assert set(kind.ORDER) <= set(kind.column_types())


def test_an_integer_that_is_not_declared_is_found() -> None:
    assert undeclared(Undeclared) == ["op"]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return make.trace(
        make.step(1, 0, 100),
        make.op("aten::linear", 5, 40),
        make.op("aten::mm", 6, 20),
        make.launch(8, 10, 7),
        make.kernel("gemm", 12, 40, 7),
        make.kernel("gemm", 50, 60, 8),
        make.memory(9, 512, 1024),
    )


def test_a_sound_trace_is_valid(trace: Trace) -> None:
    valid_trace.check(trace)
    valid_trace.check(Trace())


def changed(trace: Trace, table: str, column: str, value: Any) -> Trace:
    own = getattr(trace, table)
    values = getattr(own, column).copy()
    values[-1] = value
    return replace(trace, **{table: replace(own, **{column: values})})


BROKEN: dict[str, Callable[[Trace], Trace]] = {
    r"kernels\.op has -?\d+ to 3, not -1 to 2 of ops": lambda t: changed(t, "kernels", "op", 3),
    r"kernels\.op has -2 to": lambda t: changed(t, "kernels", "op", -2),
    r"kernels\.lane has -1 to 0, not 0 to 0 of lanes": lambda t: changed(t, "kernels", "lane", -1),
    r"ops\.name has .* of strings": lambda t: changed(t, "ops", "name", 10**6),
    r"ops\.shapes has .* of strings": lambda t: changed(t, "ops", "shapes", 10**6),
    r"kernels\.start_ns is not in order": lambda t: changed(t, "kernels", "start_ns", -1),
    r"kernels\.end_ns is before start_ns": lambda t: changed(t, "kernels", "end_ns", -1),
    r"ops\.parent is not before its row": lambda t: changed(t, "ops", "parent", 2),
    r"lanes\.device is int32, not int64": lambda t: replace(
        t, lanes=replace(t.lanes, device=t.lanes.device.astype(np.int32))
    ),
    r"ops is a Kernels": lambda t: replace(t, ops=cast(Any, t.kernels)),
    r"missing_lanes": lambda t: replace(t, meta=Meta(missing_lanes=(1,))),
}


@pytest.mark.parametrize("message", BROKEN)
def test_what_breaks_the_declaration_is_found(trace: Trace, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        valid_trace.check(BROKEN[message](trace))
