"""Steps, operators and activities of no length or at equal times: every question has an answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS, signature
from tb_privateuse1.views.lookups import LOOKUPS
from tb_privateuse1.views.overview import overview
from tests.contract.test_contract import not_finite
from tests.support import invariants
from tests.support.make import Event, frame, kernel, launch, memory, op, step, trace
from tests.support.repeats import repeats
from tests.support.results import result

ROWED = ("links", "operator_calls", "kernel_instances")
"""Lookups of one row: a trace may have none."""


def check(made: Trace) -> None:
    """Views of all and of each step, lookups and advice answer, with numbers, and sums close."""
    invariants.check(made)
    names = [made.text(name) for name in made.steps.name]
    numbers = [int(name.partition("#")[2]) for name in names if "#" in name]
    for view in VIEWS.values():
        selects = any(name == "step" for name, _, _ in signature.query_of(view))
        assert not list(not_finite(result(view, made)))
        for number in numbers if selects else ():
            assert not list(not_finite(result(view, made, step=number)))
    for name, lookup in LOOKUPS.items():
        if name not in ROWED or len(made.ops):
            options = {"table": "ops"} if name == "links" else {}
            assert not list(not_finite(result(lookup, made, **options)))


@pytest.mark.long
def test_two_steps_that_begin_together() -> None:
    """One has no length, and is the later one."""
    made = trace(kernel("k", 50, 54), step(1, 0, 100), step(2, 0, 0))
    check(made)
    assert overview(made).utilization == pytest.approx(0.04)


@pytest.mark.long
def test_an_activity_without_a_launch_ends_no_step() -> None:
    """It begins in the first step and reaches to the end of the second."""
    made = trace(step(0, 0, 10), step(1, 10, 20), kernel("gemm", 0, 20))
    check(made)
    for number in (0, 1):
        shown = overview(made, step=number)
        assert (shown.utilization, shown.utilization_low) == (1.0, 1.0)


@st.composite
def tiny(draw: st.DrawFn, most: int = 2) -> list[Event]:
    """Up to three steps, and a few events within three instants."""

    def times() -> tuple[int, int]:
        start, end = sorted(draw(st.tuples(st.integers(0, most), st.integers(0, most))))
        return 10 * start, 10 * end

    events = [step(number, *times()) for number in range(draw(st.integers(0, 3)))]
    for number in range(draw(st.integers(0, 3))):
        shapes = {"Input Dims": [[64, 64]]} if draw(st.booleans()) else {}
        events.append(op("aten::mm", *times(), id=number, **shapes))
    for number in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            events.append(launch(*times(), number))
        name = draw(st.sampled_from(["gemm", "ncclDevKernel_AllReduce"]))
        stream = draw(st.integers(7, 8))
        events.append(kernel(name, *times(), number, stream))
    if draw(st.booleans()):
        events.append(frame("train.py(1): f", *times(), **{"Python id": 1}))
    if draw(st.booleans()):
        events.append(memory(times()[0], 512, 512))
    return events


@pytest.mark.long
@settings(max_examples=repeats(100, 16))
@given(tiny())
def test_measured(events: list[Event]) -> None:
    check(trace(*events))


@pytest.mark.long
@settings(max_examples=repeats(100, 16))
@given(tiny(), st.lists(st.sampled_from([None, 0, 1, 10, 20]), min_size=3, max_size=3))
def test_inferred(events: list[Event], elapsed: list[float | None]) -> None:
    host = [event for event in events if event["cat"] != "kernel"]
    check(trace(*host, elapsed=dict(enumerate(elapsed))))
