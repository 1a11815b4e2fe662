"""Time of a step that is not judged: no change and no assumption reaches it."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.simulation import (
    assumptions,
    baseline,
    changes,
    critical_path,
    dependency_graph,
    path_classes,
    prediction,
)
from tb_privateuse1.trace import intervals
from tests.unit.analysis.simulation.test_dependency_graph import waiting

STEP = np.array([0])


def us(start: int, end: int) -> intervals.Set:
    return np.array([start * 1000]), np.array([end * 1000])


@pytest.mark.parametrize(
    ("apart", "gain_ns"),
    [(intervals.EMPTY, 20_000), (us(17, 57), 0), (us(0, 37), 10_000), (us(57, 100), 20_000)],
)
def test_a_change_gains_of_judged_time_only(apart: intervals.Set, gain_ns: int) -> None:
    made = waiting()
    graph = dependency_graph.build_graph(made)
    base = baseline.replay_baseline(made, graph, apart)
    half = changes.parse_changes(made, "kernel:mm=0.5")
    assert prediction.predict(made, graph, base, half).mean(STEP).gain_ns == gain_ns


def test_a_wait_that_ends_with_the_judged_time_is_judged() -> None:
    made = waiting()
    graph = dependency_graph.build_graph(made)
    base = baseline.replay_baseline(made, graph, us(80, 100))
    free = changes.parse_changes(made, "synchronization=0")
    assert prediction.predict(made, graph, base, free).mean(STEP).gain_ns == 22_000


def test_without_time_apart_nothing_is_held() -> None:
    graph = dependency_graph.build_graph(waiting())
    assert assumptions.find_apart(graph, intervals.EMPTY) is None


def test_a_path_without_some_time_is_as_long_as_the_rest() -> None:
    made = waiting()
    path = critical_path.find_critical_path(made, dependency_graph.build_graph(made))
    rest = path_classes.outside(path, us(40, 90))
    assert int((rest.end_ns - rest.start_ns).sum()) == 50_000
    assert path_classes.outside(path, intervals.EMPTY) is path
