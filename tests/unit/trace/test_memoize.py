"""Memoized functions of a trace: one result per trace, within the memory budget."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64
from tests.support.make import kernel, op, step, trace


@pytest.mark.long
def test_each_trace_is_computed_once_and_released() -> None:
    calls: list[int] = []

    @memoize
    def answer(one: Trace) -> int:
        """Count the calls."""
        calls.append(one.end_ns)
        return len(calls)

    first, second = Trace(end_ns=1), Trace(end_ns=1)
    assert [answer(first), answer(second), answer(first)] == [1, 2, 1]
    assert calls == [1, 1]
    assert answer.__doc__ == "Count the calls."
    del first
    gc.collect()
    assert answer(second) == 2


def test_none_is_a_cached_result() -> None:
    calls = []

    @memoize
    def nothing(one: Trace) -> None:
        calls.append(one)

    one = Trace()
    assert nothing(one) is None
    assert nothing(one) is None
    assert len(calls) == 1


def test_concurrent_threads_share_one_computation() -> None:
    calls: list[Trace] = []
    go_on, one = threading.Event(), Trace()

    @memoize
    def slow(trace: Trace) -> object:
        calls.append(trace)
        assert go_on.wait(20)
        return object()

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(slow, one) for _ in range(4)]
        while not all(future.running() for future in found):
            threading.Event().wait(0.01)
        go_on.set()
        assert len({id(future.result(20)) for future in found}) == 1
    assert calls == [one]


def test_results_count_in_the_memory_budget_and_are_evicted() -> None:
    calls: list[Trace] = []

    @memoize
    def large(trace: Trace) -> I64:
        calls.append(trace)
        return np.zeros(1000, np.int64)

    one = Trace()
    before = BUDGET.bytes
    large(one)
    assert 8000 <= BUDGET.bytes - before <= 9000
    limit = BUDGET.limit_bytes
    try:
        BUDGET.limit_bytes = 0
        memoize(lambda _: 1)(Trace())
        large(one)
    finally:
        BUDGET.limit_bytes = limit
    assert calls == [one, one]


def test_shared_results_are_read_only() -> None:
    one = trace(step(1, 0, 10), op("a", 1, 2, id=1), kernel("k", 3, 5, id=1))
    parts = breakdown.step_breakdown(one)
    assert breakdown.step_breakdown(one) is parts
    assert not any(ns.flags.writeable for ns in parts.values())
