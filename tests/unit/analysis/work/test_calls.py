"""Recorded inputs of calls: equal calls are parsed once, damaged ones are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_privateuse1.analysis.operators.host_activities import with_host_activities
from tb_privateuse1.analysis.work import calls
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.calls import known_call, read_call, read_calls, share_parsed
from tb_privateuse1.trace.model import Trace
from tests.support import make

TYPES: dict[str, Any] = {"Input type": ["float", "float"]}


def test_equal_calls_are_parsed_once() -> None:
    shapes: dict[str, Any] = {"Input Dims": [[2, 3], [3, 4]], **TYPES}
    ops = [make.op("aten::mm", 10 * i, 10 * i + 5, **shapes) for i in range(2)]
    trace = make.trace(*ops)
    first, second = (known_call(trace, row) for row in range(2))
    assert first is second
    assert [tensor.shape for tensor in first.tensors()] == [(2, 3), (3, 4)]


def of_sizes(count: int) -> Trace:
    shapes: list[dict[str, Any]] = [{"Input Dims": [[2, i], [i, 4]], **TYPES} for i in range(count)]
    return make.trace(*(make.op("aten::mm", 10 * i, 10 * i + 5, **shapes[i]) for i in range(count)))


def test_many_calls_are_those_of_single_rows() -> None:
    trace = of_sizes(3)
    assert read_calls(trace, np.arange(3)) == [read_call(trace, row) for row in range(3)]


def test_further_calls_take_no_place_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_KEPT", 2)
    trace = of_sizes(4)
    first, second = (read_calls(trace, np.arange(4)) for _ in range(2))
    assert first == second
    assert [one is again for one, again in zip(first, second, strict=True)] == [
        True, True, False, False,
    ]  # fmt: skip


def test_a_host_seen_as_a_device_has_the_same_calls() -> None:
    trace = of_sizes(1)
    seen = with_host_activities(trace)
    share_parsed(trace, seen)
    assert read_call(seen, 0) is read_call(trace, 0)


def test_calls_without_or_with_damaged_inputs_are_none() -> None:
    trace = make.trace(
        make.op("aten::mm", 0, 5), make.op("aten::mm", 10, 15, **{"Input Dims": "[[2,", **TYPES})
    )
    assert [read_call(trace, row) for row in range(2)] == [None, None]
    with pytest.raises(UnknownWork):
        known_call(trace, 0)
