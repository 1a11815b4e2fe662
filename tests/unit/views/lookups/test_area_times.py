"""A selected interval by operator, stream and runtime call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_privateuse1.analysis.account.first_look import find_first_look
from tb_privateuse1.analysis.timeline import tracks as timeline_tracks
from tb_privateuse1.storage import derived
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.flame import flame
from tb_privateuse1.views.lookups.area import area
from tb_privateuse1.views.lookups.area_times import AreaCounter, area_times
from tests.support.lookups import ask
from tests.support.make import Event, annotation, kernel, launch, op, trace
from tests.support.repeats import sampled
from tests.support.results import run_view
from tests.support.shared_traces import TRACES, load, needs_traces
from tests.support.uncertain import pair


def program() -> Trace:
    return trace(
        annotation("phase", 0, 50),
        op("a", 0, 40, id=1),
        op("b", 10, 20, id=2),
        launch(12, 14, 2),
        launch(30, 34, 1),
        kernel("k", 15, 35, 2),
        kernel("l", 36, 60, 1, stream=8),
        kernel("lost", 55, 70, stream=8),
    )


def test_own_time_and_device_time_of_operators() -> None:
    found = ask(area_times, program(), start_ns=15_000, stop_ns=58_000)
    rows = {row.name: row for row in found.operators}
    assert (rows["a"].self_ns, rows["a"].device_ns, rows["a"].calls) == (20_000, 22_000, 1)
    assert (rows["b"].self_ns, rows["b"].device_ns, rows["b"].activities) == (5_000, 20_000, 1)
    assert (rows["phase"].annotation, rows["phase"].self_ns) == (True, 10_000)
    assert (rows[None].device_ns, rows[None].calls, rows[None].activities) == (3_000, 0, 1)
    assert found.host_ns == sum(row.self_ns for row in found.operators) == 35_000
    assert found.device_ns == sum(row.device_ns for row in found.operators) == 45_000


def test_busy_time_of_each_stream_and_runtime_calls() -> None:
    found = ask(area_times, program(), start_ns=15_000, stop_ns=58_000)
    assert [(row.busy_ns, row.activities, row.busy_bound_ns) for row in found.streams] == [
        (22_000, 2, 0), (20_000, 1, 0),
    ]  # fmt: skip
    (call,) = found.calls
    assert (call.calls, call.inside_ns, call.max_ns, call.launched) == (1, 4_000, 4_000, 1)
    assert not call.waits
    assert program().launches.start_ns[call.longest] == 30_000


def test_only_chosen_tracks() -> None:
    one = program()
    tracks = timeline_tracks.list_tracks(
        one, derived.DerivedData(one).pyramid, find_first_look(one)
    )
    stream = next(t for t in tracks if t.kind == "device")
    found = ask(area_times, one, tracks=str(stream.id))
    assert [row.track for row in found.streams] == [stream.id]
    assert (found.calls, found.host_ns) == ((), 0)
    host = next(t for t in tracks if t.kind == "operators")
    found = ask(area_times, one, tracks=str(host.id))
    assert (found.streams, found.device_ns, len(found.calls)) == ((), 0, 1)
    with pytest.raises(TraceError, match="numbered from 0"):
        ask(area_times, one, tracks="99")


def counted() -> Trace:
    """Two counters; the clock has no value before 50 us."""
    power = {"ph": "C", "name": "Power", "pid": "GPU"}
    clock = {"ph": "C", "name": "Clock", "pid": "GPU", "ts": 50, "args": {"MHz": 900}}
    values = ((0, 100), (20, 300), (40, 100), (60, 500))
    samples: list[Event] = [{**power, "ts": at, "args": {"W": watts}} for at, watts in values]
    return trace(op("a", 0, 80, id=1), launch(1, 2, 1), kernel("k", 15, 35, 1), *samples, clock)


def test_counters_of_the_selection_by_what_holds_in_it() -> None:
    found = ask(area_times, counted(), start_ns=10_000, stop_ns=50_000)
    assert found.counters == (
        AreaCounter(0, "Power · W", "GPU", 2, (10 * 100 + 20 * 300 + 10 * 100) / 40, 100.0, 300.0),
    )  # the clock has no value yet
    later = ask(area_times, counted(), start_ns=45_000, stop_ns=60_000)
    assert [(one.name, one.values, one.mean) for one in later.counters] == [
        ("Power · W", 0, 100.0), ("Clock · MHz", 1, 900.0),
    ]  # fmt: skip
    assert later.counters_count == 2


def test_counters_are_of_all_tracks() -> None:
    one = counted()
    tracks = timeline_tracks.list_tracks(
        one, derived.DerivedData(one).pyramid, find_first_look(one)
    )
    stream = next(t for t in tracks if t.kind == "device")
    assert ask(area_times, one, tracks=str(stream.id)).counters == ask(area_times, one).counters


def test_nothing() -> None:
    found = ask(area_times, Trace())
    assert (found.operators, found.streams, found.calls, found.host_ns) == ((), (), (), 0)
    assert found.device_ns is None
    assert (found.counters, found.counters_count) == ((), 0)


@pytest.mark.parametrize("seed", range(6))
def test_the_truth_lies_within_the_bounds(seed: int) -> None:
    shown, true = pair(seed, 2)
    random = np.random.default_rng(seed)
    for _ in range(4):
        start, stop = sorted(random.integers(0, shown.end_ns, 2).tolist())
        a, b = (ask(area_times, one, start_ns=start, stop_ns=stop) for one in (shown, true))
        other = {row.name: row for row in b.operators}
        for row in a.operators:
            truth = other[row.name].device_ns if row.name in other else 0
            assert row.device_bound_ns is not None
            assert abs(row.device_ns - truth) <= row.device_bound_ns
        streams = {row.track: row for row in b.streams}
        for stream in a.streams:
            assert abs(stream.busy_ns - streams[stream.track].busy_ns) <= stream.busy_bound_ns


@needs_traces
@pytest.mark.long
@pytest.mark.parametrize("path", sampled(TRACES, 24), ids=lambda path: path.parent.name)
def test_a_recording_s_windows_agree_with_other_results(path: Path) -> None:
    one = load(path)
    for first, last in ((0.0, 1.0), (0.3, 0.5), (0.61, 0.62)):
        start, stop = int(first * one.end_ns), int(last * one.end_ns)
        found = ask(area_times, one, start_ns=start, stop_ns=stop)
        whole = ask(area, one, start_ns=start, stop_ns=stop, account=True)
        kernels = [row for row in whole.rows if row.table == "kernels"]
        if whole.names <= 500 and not one.meta.missing_lanes:
            assert (found.device_ns or 0) == sum(row.inside_ns for row in kernels)
        calls = {row.name: row.inside_ns for row in whole.rows if row.table == "launches"}
        assert all(calls[row.name] == row.inside_ns for row in found.calls if row.name in calls)
        assert max((row.busy_ns or 0 for row in found.streams), default=0) <= (whole.busy_ns or 0)
        if whole.account is not None and found.device_ns:
            busy = sum(c.ns for c in whole.account.classes if c.group == "device")
            assert busy == whole.busy_ns
            assert busy <= sum(row.busy_ns or 0 for row in found.streams)
        graph = run_view(flame, one, {"start_ns": start, "stop_ns": stop, "by": "device"})
        outer = sum(row.total_ns for row in graph.rows if row.parent is None)
        assert outer + graph.merged_ns == (found.device_ns or 0)
