"""Curves of the counters that a trace records."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.counters import counters, recorded
from tests.support import make


def power(*values: tuple[float, float], pid: int = 7, name: str = "Power") -> list[make.Event]:
    return [
        {"ph": "C", "name": name, "pid": pid, "ts": ts, "args": {"W": value}}
        for ts, value in values
    ]


def test_a_value_holds_until_the_next_and_there_is_none_before_the_first() -> None:
    trace = make.trace(make.op("a", 0, 100, id=1), *power((20, 100), (40, 300), (90, 50)))
    (curve,) = recorded.recorded_curves(trace)
    assert (curve.label, curve.unit, curve.what) == ("Power · W", "", "recorded")
    points = curve.window(0, 100_000, 5)
    assert points.at_ns.tolist() == [20_000, 40_000, 80_000]
    assert points.value.tolist() == [100.0, 300.0, 175.0]
    assert points.bound.tolist() == [0.0, 0.0, 0.0]
    assert curve in counters.build_curves(trace)


def test_processes_are_named_where_they_differ() -> None:
    trace = make.trace(
        make.op("a", 0, 100, id=1),
        *power((1, 2)),
        *power((1, 3), pid=8),
        *power((1, 3), name="value"),
    )
    assert recorded.labels(trace) == ["7: Power · W", "8: Power · W", "value · W"]


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(-50, 50)), min_size=1, max_size=30),
    st.lists(st.integers(0, 120), min_size=2, max_size=12, unique=True),
)
def test_means_are_those_of_single_instants(entries: list[tuple[int, int]], at: list[int]) -> None:
    whole = dict(sorted(entries))
    form = recorded.samples(np.array(list(whole)), np.array(list(whole.values()), np.float64))
    edges = np.array(sorted(at))
    for start, stop, found in zip(edges, edges[1:], form.of_parts(edges), strict=False):
        known = [
            whole[max(t for t in whole if t <= instant)]
            for instant in range(start, stop)
            if instant >= min(whole)
        ]
        if known:
            assert abs(found - sum(known) / len(known)) < 1e-9
        else:
            assert np.isnan(found)
