"""Recorded inputs of calls: equal calls are parsed once, damaged ones are none."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.calls import known_call, read_call
from tests.support import make

TYPES: dict[str, Any] = {"Input type": ["float", "float"]}


def test_equal_calls_are_parsed_once() -> None:
    shapes: dict[str, Any] = {"Input Dims": [[2, 3], [3, 4]], **TYPES}
    ops = [make.op("aten::mm", 10 * i, 10 * i + 5, **shapes) for i in range(2)]
    trace = make.trace(*ops)
    first, second = (known_call(trace, row) for row in range(2))
    assert first is second
    assert [tensor.shape for tensor in first.tensors()] == [(2, 3), (3, 4)]


def test_calls_without_or_with_damaged_inputs_are_none() -> None:
    trace = make.trace(
        make.op("aten::mm", 0, 5), make.op("aten::mm", 10, 15, **{"Input Dims": "[[2,", **TYPES})
    )
    assert [read_call(trace, row) for row in range(2)] == [None, None]
    with pytest.raises(UnknownWork):
        known_call(trace, 0)
