"""The memory budget: the order of eviction, and one computation per value."""

from __future__ import annotations

import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

from tb_privateuse1.trace.interruption import Interrupted
from tb_privateuse1.trace.memory_budget import MemoryBudget, size_bytes
from tb_privateuse1.trace.model import Trace
from tests.support.clock import FakeClock

WAIT_S = 20
UNIT = 1 << 16


class Owner:
    """An owner of values."""


def units(number: int) -> np.ndarray[Any, Any]:
    """Return an array of about this many units."""
    return np.zeros(number * UNIT - 512, np.int8)


def derive(budget: MemoryBudget, owner: object, key: str, size: int = 10) -> Any:
    return budget.compute(owner, key, lambda: units(size))


def test_least_recently_used_goes_first() -> None:
    budget, owner = MemoryBudget(30 * UNIT), Owner()
    for key in "abc":
        derive(budget, owner, key)
    first = derive(budget, owner, "a")
    derive(budget, owner, "d")
    assert budget.keys(owner) == ["a", "c", "d"]
    assert derive(budget, owner, "a") is first
    assert budget.bytes <= budget.limit_bytes


@pytest.mark.long
def test_what_nobody_uses_goes() -> None:
    clock = FakeClock()
    budget, store = MemoryBudget(clock=clock.now), Owner()
    used, idle = Trace(strings=("a" * UNIT,)), Trace(strings=("b" * UNIT,))
    for name, trace in (("used", used), ("idle", idle)):
        budget.put(store, name, trace)
        derive(budget, trace, "graph")
        budget.compute(trace, "small", lambda: 1, goes_last=True)
    clock.advance(300)
    derive(budget, used, "graph")
    clock.advance(300)
    budget.drop_idle(600)
    # A trace is used with what is derived from it.
    assert budget.keys(store) == ["used"]
    assert budget.keys(used) == ["graph", "small"]
    assert budget.keys(idle) == ["small"]
    clock.advance(300)
    budget.drop_idle(600)
    assert budget.keys(store) == []
    del used, idle, trace
    gc.collect()
    assert budget.bytes == 0


def test_a_timer_drops_it_and_ends() -> None:
    budget, owner, before = MemoryBudget(), Owner(), threading.active_count()
    budget.drop_when_idle(0.02)
    assert threading.active_count() == before
    derive(budget, owner, "a")
    while threading.active_count() > before:
        threading.Event().wait(0.01)
    assert budget.keys(owner) == []
    derive(budget, owner, "b")
    budget.drop_when_idle(None)
    while threading.active_count() > before:
        threading.Event().wait(0.01)


def test_who_still_waits_makes_what_another_gave_up() -> None:
    budget, owner = MemoryBudget(), Owner()
    begun, go_on = threading.Event(), threading.Event()

    def give_up() -> int:
        begun.set()
        assert go_on.wait(WAIT_S)
        raise Interrupted

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(budget.compute, owner, "key", give_up)
        assert begun.wait(WAIT_S)
        others = [pool.submit(budget.compute, owner, "key", lambda: 7) for _ in range(2)]
        threading.Event().wait(0.05)
        go_on.set()
        assert isinstance(first.exception(WAIT_S), Interrupted)
        assert [one.result(WAIT_S) for one in others] == [7, 7]


def test_last_used_value_stays_however_large() -> None:
    budget, owner = MemoryBudget(30 * UNIT), Owner()
    derive(budget, owner, "a")
    derive(budget, owner, "large", 90)
    assert budget.keys(owner) == ["large"]


def test_trace_goes_after_its_derived_values() -> None:
    """The derived values of an unused trace go first, then its columns."""
    budget, store = MemoryBudget(30 * UNIT), Owner()
    first, second = Trace(strings=("a" * 11 * UNIT,)), Trace(strings=("b" * 11 * UNIT,))
    budget.put(store, "first", first)
    derive(budget, first, "graph", 5)
    budget.put(store, "second", second)
    derive(budget, second, "graph", 5)
    assert budget.keys(first) == []
    assert budget.keys(store) == ["first", "second"]
    derive(budget, second, "pyramid", 5)
    assert budget.keys(store) == ["second"]
    assert budget.keys(second) == ["graph", "pyramid"]


def test_using_a_derived_value_uses_its_trace() -> None:
    budget, store = MemoryBudget(30 * UNIT), Owner()
    traces = {name: Trace(strings=(name * 11 * UNIT,)) for name in "abc"}
    for name in "ab":
        budget.put(store, name, traces[name])
    derive(budget, traces["a"], "names", 1)
    budget.put(store, "c", traces["c"])
    assert budget.keys(store) == ["a", "c"]


def test_last_used_trace_stays_with_its_last_used_value() -> None:
    budget, store, trace = MemoryBudget(1), Owner(), Trace()
    budget.put(store, "trace", trace)
    derive(budget, trace, "names")
    derive(budget, trace, "graph")
    assert budget.keys(store) == ["trace"]
    assert budget.keys(trace) == ["graph"]


def test_expensive_values_go_last() -> None:
    budget, reader = MemoryBudget(30 * UNIT), Owner()
    budget.compute(reader, "reduction", lambda: units(5), goes_last=True)
    for key in "abc":
        derive(budget, reader, key)
    assert budget.keys(reader) == ["reduction", "b", "c"]


def test_the_first_value_of_a_key_stays() -> None:
    budget, store, trace = MemoryBudget(), Owner(), Trace()
    assert budget.find(store, "key") is None
    assert budget.put(store, "key", trace) is trace
    assert budget.put(store, "key", Trace()) is trace
    assert budget.find(store, "key") is trace
    assert budget.bytes == size_bytes(trace)


@pytest.mark.long
def test_values_go_with_their_owner() -> None:
    budget, owner, other = MemoryBudget(), Owner(), Owner()
    derive(budget, owner, "a")
    derive(budget, other, "a")
    del owner
    gc.collect()
    assert 9 * UNIT < budget.bytes < 11 * UNIT


def test_concurrent_calls_share_one_computation() -> None:
    budget, owner, go_on = MemoryBudget(), Owner(), threading.Event()
    begun = threading.Semaphore(0)

    def make() -> object:
        begun.release()
        assert go_on.wait(WAIT_S)
        return object()

    with ThreadPoolExecutor(9) as pool:
        futures = [pool.submit(budget.compute, owner, "key", make) for _ in range(8)]
        assert begun.acquire(timeout=WAIT_S)
        other = pool.submit(budget.compute, Owner(), "key", lambda: "other")
        assert other.result(WAIT_S) == "other"  # nobody waits for what another key takes
        go_on.set()
        assert len({id(one.result(WAIT_S)) for one in futures}) == 1
    assert not begun.acquire(blocking=False)


def test_error_reaches_all_waiting_threads_and_is_not_cached() -> None:
    budget, owner, go_on = MemoryBudget(), Owner(), threading.Event()
    begun = threading.Semaphore(0)

    def fail() -> object:
        begun.release()
        assert go_on.wait(WAIT_S)
        raise ZeroDivisionError

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(budget.compute, owner, "key", fail)
        assert begun.acquire(timeout=WAIT_S)
        second = pool.submit(budget.compute, owner, "key", lambda: 1)
        while not second.running():
            threading.Event().wait(0.01)
        threading.Event().wait(0.1)
        go_on.set()
        assert isinstance(first.exception(WAIT_S), ZeroDivisionError)
        assert isinstance(second.exception(WAIT_S), ZeroDivisionError)
    assert budget.compute(owner, "key", lambda: 2) == 2


class Pair(Struct, frozen=True):
    column: Any
    other: Any = None


@pytest.mark.parametrize(
    ("value", "least"),
    [
        (np.zeros(1000, np.int64), 8000),
        (("x" * 1000,) * 3, 3000),
        ({"a": np.zeros(1000, np.int8), "b": [b"y" * 500]}, 1500),
        (Pair(np.zeros(1000, np.int8), (Pair(np.zeros(700, np.int8)),)), 1700),
        (7, sys.getsizeof(7)),
        (None, 1),
    ],
)
def test_sizes(value: Any, least: int) -> None:
    assert least <= size_bytes(value) <= least + 1000


def test_to_keep_a_value_costs_as_much_beside_many_others() -> None:
    """By calls: a part of each of ten thousand ranks looked at all others."""
    budget, owner = MemoryBudget(1 << 30), Owner()

    def calls_of(first: int, end: int) -> int:
        count = 0

        def heard(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(heard)
        try:
            for key in range(first, end):
                budget.compute(owner, key, lambda: 1, goes_last=True)
        finally:
            sys.setprofile(None)
        return count

    assert calls_of(0, 50) + 50 >= calls_of(50, 100)
