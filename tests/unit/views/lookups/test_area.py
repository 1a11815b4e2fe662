"""A selected interval: what is in it, and how much of it."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.account.first_look import find_first_look
from tb_privateuse1.analysis.timeline import tracks as timeline_tracks
from tb_privateuse1.storage import derived
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.views.lookups.area import area
from tests.support.lookups import ask
from tests.support.make import frame, kernel, launch, op, step, trace
from tests.support.repeats import repeats
from tests.support.uncertain import pair


def test_ranges_count_with_their_part_inside() -> None:
    one = trace(op("a", 0, 10), op("a", 20, 40), op("b", 21, 22, thread=2), kernel("k", 15, 35),
                kernel("k", 30, 32, stream=8), kernel("far", 90, 95))  # fmt: skip
    found = ask(area, one, start_ns=5_000, stop_ns=30_000)
    rows = {(r.table, r.name): r for r in found.rows}
    a = rows["ops", "a"]
    assert (a.ranges, a.inside_ns, a.mean_ns, a.max_ns) == (2, 15_000, 15_000, 20_000)
    assert rows["kernels", "k"].inside_ns == 15_000
    assert (found.ranges, found.names, found.busy_ns) == (4, 3, 15_000)


def on(one: Trace, kind: str, *owners: int) -> str:
    """The numbers of these threads' or streams' tracks."""
    tracks = timeline_tracks.list_tracks(
        one, derived.DerivedData(one).pyramid, find_first_look(one)
    )
    return ",".join(str(t.id) for t in tracks if t.kind == kind and t.owner in owners)


def test_only_what_lies_on_the_chosen_tracks() -> None:
    one = trace(step(0, 0, 100), op("a", 0, 40, id=1), op("b", 21, 22, thread=2),
                launch(5, 6, 1), frame("f.py(1): f", 0, 50), kernel("k", 15, 35, 1),
                kernel("l", 30, 45, stream=8))  # fmt: skip
    first, second = (int(one.ops.thread[i]) for i in (0, -1))
    names = {
        on(one, "operators", first): {"ProfilerStep#0", "a", "cudaLaunchKernel"},
        on(one, "operators", second): {"b"},
        on(one, "operators", first, second): {"ProfilerStep#0", "a", "b", "cudaLaunchKernel"},
        on(one, "frames", first): {"f.py(1): f"},
        on(one, "device", 0, 1): {"k", "l"},
        on(one, "steps", 0): {"ProfilerStep#0"},
        on(one, "frames", first) + "," + on(one, "device", 1): {"f.py(1): f", "l"},
        "": set(),
    }
    for tracks, expected in names.items():
        assert {row.name for row in ask(area, one, tracks=tracks).rows} == expected
    assert ask(area, one).busy_ns == 30_000
    assert ask(area, one, tracks=on(one, "device", 1)).busy_ns == 15_000
    assert ask(area, one, tracks=on(one, "frames", first)).busy_ns is None
    with pytest.raises(TraceError, match="numbered from 0"):
        ask(area, one, tracks="99")


def test_nothing() -> None:
    found = ask(area, Trace())
    assert (found.rows, found.ranges, found.busy_ns) == ((), 0, None)
    backwards = ask(area, trace(kernel("k", 0, 9)), start_ns=8_000, stop_ns=2_000)
    assert backwards.busy_ns == 0


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("seed", range(repeats(12)))
def test_the_truth_lies_within_the_bounds(seed: int, lanes: int) -> None:
    shown, true = pair(seed, lanes)
    random = np.random.default_rng(seed)
    for _ in range(8):
        start, stop = sorted(random.integers(0, shown.end_ns, 2).tolist())
        a, b = (ask(area, one, start_ns=start, stop_ns=stop) for one in (shown, true))
        assert a.busy_bound_ns is not None
        assert abs(a.busy_ns - b.busy_ns) <= a.busy_bound_ns
        rows = {(r.table, r.name): r for r in b.rows}
        for row in a.rows:
            other = rows.get((row.table, row.name))
            assert row.bound_ns is not None
            assert abs(row.inside_ns - (other.inside_ns if other else 0)) <= row.bound_ns
            assert row.table == "kernels" or row.bound_ns == row.max_bound_ns == 0


def test_a_bound_that_is_not_known_is_null() -> None:
    shown, _ = pair(1)
    lost = replace(shown.kernels, start_bound_ns=np.full(len(shown.kernels), MISSING, np.int64))
    found = ask(area, replace(shown, kernels=lost))
    kernels = [row for row in found.rows if row.table == "kernels"]
    assert found.busy_bound_ns is None
    assert {row.bound_ns for row in kernels} == {None}
    assert all(row.mean_bound_ns is not None for row in kernels)


def test_what_was_measured_is_exact() -> None:
    found = ask(area, trace(op("a", 0, 10), kernel("k", 15, 35)))
    assert found.busy_bound_ns == 0
    assert {(r.bound_ns, r.mean_bound_ns, r.max_bound_ns) for r in found.rows} == {(0, 0, 0)}
