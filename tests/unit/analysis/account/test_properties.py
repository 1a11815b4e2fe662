"""Properties of the account over generated programs: what must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.account import classification
from tb_privateuse1.analysis.account.table import account_table, class_times
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.program import Program

pytestmark = pytest.mark.long

Action = tuple[str, int, int]
ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["op", "bare", "python", "wait", "loader"]),
        st.integers(1, 60),
        st.integers(1, 90),
    ),
    min_size=2,
    max_size=14,
)
"""What the host does, how long it takes, and how long its kernel takes."""


def program(actions: list[Action], steps: int = 2) -> Program:
    """Build a program that repeats its actions in each step."""
    run = Program()
    for _ in range(steps):
        with run.step():
            for kind, host, kernel in actions:
                act(run, kind, host, kernel)
    return run


def act(run: Program, kind: str, host: int, kernel: int) -> None:
    if kind == "op":
        run.op("aten::mm", host, kernel=kernel)
    elif kind == "bare":
        run.op("aten::view", host)
    elif kind == "python":
        with run.frame("train.py(3): step"):
            run.now += host
    elif kind == "loader":
        with run.range("enumerate(DataLoader)#it"):
            run.now += host
    else:
        run.wait()


def by_step(trace: Trace) -> dict[str, list[int]]:
    """Return the time of each class in each step."""
    steps = trace.steps
    times = class_times(trace, steps.start_ns, steps.end_ns)
    return {name: ns.tolist() for name, ns in times.items() if ns.any()}


@given(ACTIONS)
def test_classes_sum_to_any_window(actions: list[Action]) -> None:
    """The classes sum to steps and to any part of the recording."""
    trace = program(actions).trace()
    times = by_step(trace)
    length = (trace.steps.end_ns - trace.steps.start_ns).tolist()
    assert [sum(column) for column in zip(*times.values(), strict=True)] == length
    end = trace.end_ns
    for low, high in ((0, end), (end // 3, end // 2), (end // 2, end // 2 + 1)):
        if high > low:
            window = (np.array([low]), np.array([high]))
            account = account_table(trace, window)
            assert sum(c.ns for c in account.classes) == high - low == account.window_ns


MONITORS = {
    "one long wait": [("threading.py(359): wait", 0.0, 1.0)],
    "a pool": [("<built-in method acquire of _thread.lock object>", 0.0, 1.0)],
    "a timer": [("<built-in function sleep>", i / 8, (i + 0.9) / 8) for i in range(8)],
}


@pytest.mark.parametrize("monitor", MONITORS)
@given(ACTIONS)
def test_a_thread_that_only_waits_changes_nothing(monitor: str, actions: list[Action]) -> None:
    """Monitors and pools are in no class."""
    run = program(actions)
    before = by_step(run.trace())
    for name, low, high in MONITORS[monitor]:
        run.events.append(make.frame(name, low * run.now, high * run.now, thread=9))
    assert by_step(run.trace()) == before


@given(ACTIONS, st.integers(1, 400))
def test_work_from_before_the_window_changes_no_later_step(
    actions: list[Action], length: int
) -> None:
    """An activity that was launched before the recording changes only the time that it covers."""
    run = program(actions)
    run.wait()
    trace = run.trace()
    first = int(trace.kernels.start_ns[0]) // 1000 if len(trace.kernels) else 1
    early = min(length, first)
    run.events.append(make.kernel("earlier", 0, early))
    after, before = by_step(run.trace()), by_step(trace)
    for name in {*before, *after} if len(trace.kernels) else ():
        old, new = (times.get(name, [0, 0]) for times in (before, after))
        assert abs(new[0] - old[0]) <= first * 1000
        assert new[1] == old[1]


@given(ACTIONS, st.integers(-5, 5))
def test_a_skew_of_the_clocks_moves_each_class_by_the_cuts(
    actions: list[Action], skew_us: int
) -> None:
    """Each gap is cut at most three times between both clocks: no class moves by more."""
    run = program(actions)
    run.now += 50
    run.events.append(make.op("aten::end", run.now - 20, run.now))
    moved = [
        {**event, "ts": max(event["ts"] + skew_us, 0)} if event["cat"] == "kernel" else event
        for event in run.events
    ]
    before, after = make.trace(*run.events), make.trace(*moved)
    window = (np.array([10_000]), np.array([before.end_ns - 10_000]))
    if window[1][0] <= window[0][0]:
        return
    cuts = 3 * (len(before.kernels) + 1)
    for name in {*classification.class_sets(before), *classification.class_sets(after)}:
        old, new = (
            int(class_times(one, *window).get(name, np.zeros(1, np.int64))[0])
            for one in (before, after)
        )
        assert abs(new - old) <= abs(skew_us) * 1000 * cuts, name
