"""Curves: the greatest value or the busy share of each part of a window."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tb_privateuse1.analysis.account.table import account_table
from tb_privateuse1.analysis.counters import counters, curve_values
from tb_privateuse1.analysis.counters.curves import Curve, windows
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support import uncertain
from tests.support.make import annotation, kernel, launch, memory, op, trace
from tests.support.repeats import repeats
from tests.unit.analysis.account.test_properties import ACTIONS, Action, program

PARTS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), min_size=1, max_size=400)


@settings(max_examples=repeats(60))
@given(PARTS, st.integers(-50, 5000), st.integers(10, 9000), st.integers(1, 40))
def test_each_part_has_its_greatest_value(
    steps: list[tuple[int, int]], start: int, length: int, bins: int
) -> None:
    """A level's part has its greatest value."""
    at, value = np.cumsum([gap for gap, _ in steps]), np.array([v for _, v in steps])
    curve = Curve("c", "bytes", "memory", curve_values.level(at, value))
    points = curve.window(start, start + length, bins)
    bins = min(bins, length)
    edges = [start + i * length // bins for i in range(bins + 1)]
    for low, high in itertools.pairwise(edges):
        first = max(int(np.searchsorted(at, low, side="right")) - 1, 0)
        true = value[first : max(int(np.searchsorted(at, high)), first + 1)].max()
        assert points.value[np.searchsorted(points.at_ns, low, side="right") - 1] == true


def named(*events: dict[str, object]) -> dict[str, Curve]:
    return {curve.name: curve for curve in counters.build_curves(trace(*events))}


def values(curve: Curve, start_ns: int, end_ns: int, parts: int) -> list[float]:
    """Return the value of each part, those without an entry included."""
    points = curve.window(start_ns, end_ns, parts)
    edges = start_ns + np.arange(parts) * (end_ns - start_ns) // parts
    held: list[float] = points.value[
        np.searchsorted(points.at_ns, edges, side="right") - 1
    ].tolist()
    return held


def test_utilization_is_the_busy_share() -> None:
    """Utilization is the busy share of each part."""
    found = named(kernel("a", 0, 10), kernel("b", 5, 10, stream=8), kernel("c", 20, 25))
    curve = found["Utilization of device 0"]
    assert (curve.unit, curve.what, curve.inferred) == ("share", "utilization", False)
    points = curve.window(0, 40_000, 4)
    assert points.at_ns.tolist() == [0, 10_000, 20_000, 30_000]
    assert points.value == pytest.approx([1, 0, 0.5, 0])
    assert points.bound.tolist() == [0, 0, 0, 0]
    assert values(curve, 5_000, 25_000, 1) == pytest.approx([0.5])


def test_a_device_has_its_own() -> None:
    """Each device has its own curves."""
    found = named(kernel("a", 0, 10), kernel("b", 20, 30, device=1), op("o", 0, 40))
    assert values(found["Utilization of device 0"], 0, 40_000, 4) == [1, 0, 0, 0]
    assert values(found["Utilization of device 1"], 0, 40_000, 4) == [0, 0, 1, 0]


def test_kernels_wait_from_their_launch_to_their_start() -> None:
    """The queue depth counts from launch to start."""
    found = named(op("a", 0, 9), launch(1, 2, 1), launch(3, 4, 2), kernel("k", 5, 8, 1),
                  kernel("k", 8, 9, 2))  # fmt: skip
    curve = found["Launch queue depth of device 0"]
    assert curve.window(0, 9_000, 9).value.tolist() == [0, 1, 2, 1, 0]


def test_without_a_launch_they_wait_from_the_end_of_their_operator() -> None:
    """Without a launch it counts from the operator's end."""
    found = named(op("a", 0, 4, id=3), kernel("k", 6, 9, **{"External id": 3}))
    assert (
        values(found["Launch queue depth of device 0"], 0, 9_000, 9) == [0] * 4 + [1] * 2 + [0] * 3
    )


def test_a_kernel_that_starts_at_once_does_not_wait() -> None:
    """A kernel without delay is not in the queue."""
    found = named(op("a", 0, 9), launch(3, 4, 1), kernel("k", 3, 8, 1))
    assert values(found["Launch queue depth of device 0"], 0, 9_000, 9) == [0] * 9


def test_launch_rate_per_ms() -> None:
    """The launch rate is starts per ms."""
    found = named(*(kernel("k", at, at + 5) for at in (0, 100, 900, 1500, 3999)), op("o", 0, 4000))
    curve = found["Launch rate of device 0"]
    assert (curve.unit, curve.what) == ("kernels/ms", "rate")
    assert values(curve, 0, 4_000_000, 4) == [3, 1, 0, 1]
    assert values(curve, 0, 4_000_000, 2) == [2, 0.5]
    # A shorter part tells of the ms around its middle.
    assert values(curve, 1_000_000, 1_002_000, 1) == [2]
    assert values(curve, 1_998_000, 2_000_000, 1) == [1]
    assert values(curve, 2_000_000, 2_002_000, 1) == [0]
    assert values(curve, 0, 2_000, 2) == [2, 2]
    assert values(curve, -9_000_000, -8_000_000, 1) == [0]


def test_the_data_loader_while_the_device_is_idle() -> None:
    """Data loading is the account's class: it keeps the device idle."""
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    found = named(
        annotation(loader, 0, 20), op("a", 30, 40), launch(31, 32, 1), kernel("k", 35, 45, 1),
        annotation(loader, 40, 60), op("b", 60, 70), launch(61, 62, 2), kernel("k", 65, 80, 2),
    )  # fmt: skip
    curve = found["Data loader"]
    assert (curve.unit, curve.what, curve.inferred) == ("share", "data_loader", False)
    assert values(curve, 0, 80_000, 8) == pytest.approx([1, 1, 0, 0, 0.5, 1, 0, 0])
    assert "Data loader" not in named(op("a", 0, 10))


@pytest.mark.long
@given(ACTIONS)
def test_curves_agree_with_the_account(actions: list[Action]) -> None:
    """Over any window, curves have the idle time and the loader's class of the account."""
    one = program(actions).trace()
    found = {curve.what: curve for curve in counters.build_curves(one)}
    end = one.end_ns
    for low, high in ((0, end), (end // 3, end // 2 + 1)):
        window = (np.array([low]), np.array([high]))
        of_class = {c.name: c.ns for c in account_table(one, window).classes}
        (device,) = {*one.lanes.device.tolist()} or {0}
        if "utilization" in found:
            (busy,) = values(found["utilization"], low, high, 1)
            idle = account_table(one, window, device).idle_ns
            assert high - low - busy * (high - low) == pytest.approx(idle, abs=1)
        loads = values(found["data_loader"], low, high, 1)[0] if "data_loader" in found else 0
        assert loads * (high - low) == pytest.approx(of_class.get("input", 0), abs=1)


def copy(way: str, start: float, end: float, **args: object) -> dict[str, object]:
    return kernel(f"Memcpy {way}", start, end, category="gpu_memcpy", **args)


def test_copies_are_as_fast_as_their_bytes_by_their_time() -> None:
    """A copy's rate is its bytes by its duration."""
    found = named(
        copy("HtoD (Pageable -> Device)", 0, 10, bytes=1000), copy("DtoH", 20, 30, bytes=4000),
        copy("HtoD (Pinned -> Device)", 5, 15, bytes=3000, stream=8), copy("DtoD", 10, 15),
        copy("somewhere", 30, 40, bytes=1), op("o", 0, 40),
    )  # fmt: skip
    names = {name for name, curve in found.items() if curve.what == "copies"}
    # What tells no bytes has no curve.
    assert names == {"Copies to device 0", "Copies from device 0", "Other copies of device 0"}
    curve = found["Copies to device 0"]
    assert curve.unit == "bytes/s"
    # 100 bytes per us in the first, 300 in the second, both at once between 5 and 10 us.
    assert values(curve, 0, 20_000, 4) == pytest.approx([1e8, 4e8, 3e8, 0])
    # While any copies: 4000 bytes in 15 us, however much time is around them.
    assert values(curve, 0, 40_000, 1) == pytest.approx([4000 / 15 * 1e6])
    assert values(found["Copies from device 0"], 0, 40_000, 4) == pytest.approx([0, 0, 4e8, 0])


def test_the_most_absurd_size_leaves_the_others_as_they_are() -> None:
    """An absurd size does not change other copies."""
    found = named(copy("HtoD", 0, 10, bytes=2**62), copy("HtoD", 20, 30, bytes=10),
                  copy("HtoD", 40, 50, bytes=-5), copy("HtoD", 60, 60, bytes=5))  # fmt: skip
    curve = found["Copies to device 0"]
    assert values(curve, 20_000, 60_000, 4) == pytest.approx([1e6, 0, 0, 0])


def test_communication_by_the_bytes_of_its_collectives() -> None:
    """Communication has the bytes of its collectives."""
    arguments = {"Collective name": "allreduce", "In msg nelems": 500, "Out msg nelems": 500,
            "dtype": "Float", "Group size": 2}  # fmt: skip
    found = named(kernel("ncclDevKernel_AllReduce", 0, 10, **arguments), op("o", 0, 20))
    curve = found["Communication"]
    assert (curve.unit, curve.what) == ("bytes/s", "communication")
    assert values(curve, 0, 20_000, 2) == pytest.approx([2000 / 10e-6, 0])


def test_memory_is_what_was_allocated() -> None:
    """The memory curve is the allocated total."""
    found = named(op("a", 0, 10), memory(2, 100, 300), memory(5, -50, 250))
    (curve,) = (one for one in found.values() if one.what == "memory")
    assert curve.window(0, 10_000, 10).value.tolist() == [200, 300, 250]


@pytest.mark.parametrize("events", [(), (op("a", 0, 10),)])
def test_missing_data_has_no_curve(events: tuple[dict[str, object], ...]) -> None:
    """Missing data gives no curve."""
    assert named(*events) == {}
    assert counters.build_curves(Trace()) == ()


KERNELS = st.lists(
    st.tuples(st.integers(0, 90), st.integers(0, 20), st.integers(0, 30), st.integers(7, 9)),
    min_size=1, max_size=40,
)  # fmt: skip


@pytest.mark.long
@settings(max_examples=repeats(40))
@given(KERNELS)
def test_integrals(some: list[tuple[int, int, int, int]]) -> None:
    """Over the recording they are what tables sum to: ns in which something holds."""
    events: list[dict[str, object]] = [op("o", 0, 200)]
    for i, (launched, waits, runs, stream) in enumerate(some):
        events.append(launch(launched, launched + 1, i + 1))
        start = launched + waits
        events.append(kernel("k", start, start + runs, i + 1, stream))
    one = trace(*events)
    found = {curve.what: curve for curve in counters.build_curves(one)}
    # In parts of one us, the resolution of the trace, the greatest is the only value.
    waiting = values(found["waiting"], 0, one.end_ns, one.end_ns // 1000)
    assert sum(waiting) == sum(waits for _, waits, _, _ in some)
    for parts in (1, 7, 200):
        lengths = np.diff(np.arange(parts + 1) * one.end_ns // parts)
        busy = (values(found["utilization"], 0, one.end_ns, parts) * lengths).sum()
        assert busy == pytest.approx(intervals.length(breakdown.busy(one.kernels)))
    started = values(found["rate"], 0, 7_000_000, 7)
    assert sum(started) == len(some)


@pytest.mark.long
@settings(max_examples=repeats(40))
@given(KERNELS, st.integers(1, 30))
def test_all_bytes_are_moved(some: list[tuple[int, int, int, int]], parts: int) -> None:
    """A flow's integral is the bytes of its copies."""
    start = np.array([s for s, _, _, _ in some])
    end, size = start + [d + 1 for _, d, _, _ in some], np.array([b + 1 for _, _, b, _ in some])
    curve = Curve("c", "bytes/s", "copies", curve_values.flow(start, end, size))
    edges = np.arange(parts + 1) * 150 // parts
    busy = intervals.covered_length(intervals.union(start, end), edges[:-1], edges[1:])
    assert (values(curve, 0, 150, parts) * busy).sum() / 1e9 == pytest.approx(size.sum())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lanes", [1, 3])
def test_what_is_inferred_lies_within_its_bound(seed: int, lanes: int) -> None:
    """The true value is within the bound of an inferred one."""
    shown, true = uncertain.pair(seed, lanes)
    pairs = list(zip(counters.build_curves(shown), counters.build_curves(true), strict=True))
    inferred = [(mine, truth) for mine, truth in pairs if mine.inferred]
    assert {mine.what for mine, _ in inferred} == {"utilization", "waiting", "rate", "data_loader"}
    for mine, truth in inferred:
        assert mine.label == f"{mine.name} (inferred)"
        for start, end, parts in ((0, shown.end_ns, 50), (100_000, 160_000, 300), (0, 10**7, 3)):
            points = mine.window(start, end, parts)
            edges = start + np.arange(parts) * (end - start) // parts
            at = np.searchsorted(points.at_ns, edges, side="right") - 1
            off = np.abs(points.value[at] - values(truth, start, end, parts))
            assert (off <= points.bound[at] + 1e-6).all()
            assert (points.bound >= 0).all()


def test_a_start_that_nothing_limits_has_no_bound() -> None:
    """An unlimited start has the bound -1."""
    shown, _ = uncertain.pair(1)
    lost = shown.kernels.start_bound_ns.copy()
    lost[3] = MISSING
    shown = replace(shown, kernels=replace(shown.kernels, start_bound_ns=lost))
    found = {
        curve.what: curve.window(0, shown.end_ns, 20) for curve in counters.build_curves(shown)
    }
    assert (found["waiting"].bound == -1).all()
    assert (found["rate"].bound == -1).all()
    use = found["utilization"]  # of a share something is known always
    assert (use.bound == np.maximum(use.value, 1 - use.value)).all()


@pytest.mark.parametrize(
    ("start", "end", "parts"),
    [(0, 1, 4000), (5, 5, 10), (10, 3, 10), (-(10**15), 10**15, 4000), (10**18, 10**18 + 7, 100)],
)
def test_absurd_windows(start: int, end: int, parts: int) -> None:
    """Empty, inverted and distant windows have finite values of at least 0."""
    some = (op("a", 0, 9), launch(1, 2, 1), kernel("k", 5, 8, 1), memory(2, 5, 9),
            copy("HtoD", 8, 9, bytes=5))  # fmt: skip
    for curve in named(*some).values():
        points = curve.window(start, end, parts)
        assert 1 <= len(points.at_ns) <= parts
        assert (np.diff(points.at_ns) >= 0).all()
        assert np.isfinite(points.value).all()
        assert (points.value >= 0).all()


def test_changes_and_parts_for_other_programs() -> None:
    """An export has all changes, or parts."""
    found = named(op("a", 0, 9), launch(1, 2, 1), kernel("k", 5, 9, 1), memory(2, 100, 300))
    changes = found["Launch queue depth of device 0"].changes(2_000, 6_000)
    assert changes is not None
    assert [column.tolist() for column in changes] == [[2_000, 5_000], [1, 0]]
    use = found["Utilization of device 0"]
    assert use.changes(0, None) is None
    at, percent = use.parts(0, 9_000)
    assert at.tolist() == [0, 4_999, 5_004]  # 2000 parts of 4.5 ns
    assert percent == pytest.approx([0, 80, 100])


@pytest.mark.parametrize("parts", [1, 10_000])
def test_no_curves_have_no_windows(parts: int) -> None:
    """Without curves there are no windows."""
    assert windows([], 0, 1000, parts, 3000) == []
