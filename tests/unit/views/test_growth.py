"""Answers do not grow without a bound with threads, streams, steps, counters and names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.growth import answered, made
from tb_privateuse1.analysis.kernel_names import trace_names
from tb_privateuse1.analysis.kernel_names.readable_name import read_name
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.memory_budget import size_bytes
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.diff import diff
from tb_privateuse1.views.memory import memory
from tb_privateuse1.views.shared_options import MOST_STEPS
from tests.support import make
from tests.support.results import result

PAGES = {"operators", "kernels", "diff"}
"""Their tables have pages of rows (``limit``, ``offset``): 20,000 by default."""
FEW, MANY = 2_000, 6_000
"""Both are beyond the bounds of lists. Beyond these, answers of three times the items are alike."""


@pytest.mark.long
@pytest.mark.parametrize("axis", ["streams", "steps", "names", "counters", "allocations"])
def test_answers_stay_as_large_with_three_times_the_items(axis: str) -> None:
    """By their bytes as JSON: half more, as the timeline has up to its number of rectangles."""
    few, many = (made(axis, n) for n in (FEW, MANY))
    for view in VIEWS:
        if axis == "names" and view in PAGES:
            continue
        small, large = answered(view, few)[0], answered(view, many)[0]
        assert large <= 1.5 * small + 1_000, (view, small, large)


def calls_of(work: Callable[..., object], *arguments: object) -> int:
    """Return how many functions run in a call, numpy's among them."""
    count = 0

    def heard(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(heard)
    try:
        work(*arguments)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.long
@pytest.mark.parametrize(
    ("axis", "view", "most", "before"),
    [
        ("threads", "whatif", 200, 2_200),
        ("threads", "overview", 20, 120),
        ("streams", "whatif", 20, 137),
        ("streams", "overview", 10, 20),
        ("steps", "whatif", 40, 80),
        ("steps", "overview", 24, 27),
        ("steps", "timeline", 7, 9),
        ("names", "whatif", 25, 78),
        ("names", "overview", 23, 28),
        ("names", "timeline", 11, 13),
        ("names", "kernels", 300, 617),
        ("streams", "memory", 2, 4),
    ],
)
def test_an_item_more_costs_few_calls(axis: str, view: str, most: int, before: int) -> None:
    """Beyond the 1,000 threads that are compared. ``before``: when each item had loops of its own.

    The rows of ``kernels`` are bounded by its page.
    """
    assert most < before
    answered(view, made(axis, 2))  # imports
    few, many = (calls_of(answered, view, made(axis, n)) for n in (1_500, 3_000))
    assert many - few <= 1_500 * most


def test_a_prefix_is_looked_for_without_a_call_for_each_name() -> None:
    few, many = made("names", 100), made("names", 300)
    for prefix in ("", call_tree.STEP, call_tree.LOADER, "aten::"):  # the first one reads all
        calls = [calls_of(call_tree.starts_with, one, prefix) for one in (few, many)]
        assert calls[1] < calls[0] + 100


def test_the_size_of_display_names_is_known_without_reading_them() -> None:
    shown = trace_names.display_names(made("names", 100))
    read_name.cache_clear()
    assert size_bytes(shown) > 100
    assert read_name.cache_info().currsize == 0


def stepped(count: int) -> Trace:
    """Return steps, each with an operator that allocates."""
    events: list[make.Event] = []
    for i in range(count):
        at = 10 * i
        events += [make.step(i, at, at + 9), make.op("aten::mm", at + 1, at + 5)]
        events.append(make.memory(at + 2, 64, 64 * (i + 1)))
    return make.trace(*events)


@pytest.mark.parametrize(("step", "first"), [(None, 0), (3, 0), (MOST_STEPS + 2, MOST_STEPS)])
def test_steps_of_memory_are_those_around_the_chosen_one(step: int | None, first: int) -> None:
    count = MOST_STEPS + 20
    found: Any = memory(stepped(count), step=step)
    assert found.memory_steps_total == count
    assert len(found.steps) == min(MOST_STEPS, count - first)
    assert found.steps[0].name == f"ProfilerStep#{first}"


def test_pairs_of_steps_have_a_limit() -> None:
    made = stepped(MOST_STEPS + 20)
    found = result(diff, made, window="all")
    assert (len(found.steps), found.pairs_total) == (MOST_STEPS, found.now_steps)
    assert found.pairs_total > MOST_STEPS
