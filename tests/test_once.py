"""What is worked out once per trace."""

from __future__ import annotations

import gc

from tb_privateuse1 import breakdown
from tb_privateuse1.once import once
from tb_privateuse1.trace import Trace
from tests.make import kernel, op, step, trace


def test_each_trace_is_asked_once_and_let_go() -> None:
    asked: list[int] = []

    @once
    def answer(one: Trace) -> int:
        """How many were asked."""
        asked.append(one.end_ns)
        return len(asked)

    first, second = Trace(end_ns=1), Trace(end_ns=1)
    assert [answer(first), answer(second), answer(first)] == [1, 2, 1]
    assert asked == [1, 1]
    assert answer.__doc__ == "How many were asked."
    del first
    gc.collect()
    assert answer(second) == 2


def test_none_is_an_answer() -> None:
    asked = []

    @once
    def nothing(one: Trace) -> None:
        asked.append(one)

    one = Trace()
    assert nothing(one) is None
    assert nothing(one) is None
    assert len(asked) == 1


def test_what_is_shared_cannot_be_changed() -> None:
    one = trace(step(1, 0, 10), op("a", 1, 2, id=1), kernel("k", 3, 5, id=1))
    parts = breakdown.of_steps(one)
    assert breakdown.of_steps(one) is parts
    assert not any(ns.flags.writeable for ns in parts.values())
