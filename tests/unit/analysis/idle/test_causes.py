"""Causes of idle time: in small traces, and at random against a check of every µs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_privateuse1.analysis.idle import causes as idle_causes
from tb_privateuse1.analysis.idle import table
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.overview import overview
from tests.support.make import annotation, frame, kernel, launch, op, span, step, trace
from tests.support.shared_traces import FOLDER, TRACES, load, needs_traces
from tests.support.uncertain import pair


def causes_of(t: Trace) -> dict[str, list[tuple[int, int]]]:
    """Return the stretches of each cause, in µs."""
    sets = idle_causes.attribute_gaps(t, idle_causes.find_gaps(t))
    return {
        cause: [(a // 1000, b // 1000) for a, b in zip(*one, strict=True)]
        for cause, one in sets.items()
        if len(one[0])
    }


def test_before_the_launch_it_is_the_host_and_behind_it_the_device() -> None:
    """The launch separates host and device causes."""
    t = trace(
        op("a", 0, 9), launch(1, 2, 1), kernel("k", 5, 10, 1),
        op("b", 14, 30), launch(20, 22, 2), kernel("k", 27, 29, 2),
    )  # fmt: skip
    assert causes_of(t) == {
        "host_operator": [(0, 1), (14, 20), (29, 30)],
        "launch_latency": [(1, 5), (20, 27)],
        "unknown": [(10, 14)],
    }


def test_of_what_the_host_does_at_once_the_first_cause_counts() -> None:
    """The first of simultaneous causes counts."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1),
        frame("train.py(3): main", 0, 90),
        span("cuda_runtime", "cudaStreamSynchronize", 5, 20),
        annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 30, 50),
        op("aten::stack", 35, 45), op("aten::mm", 60, 80), launch(70, 71, 2),
        kernel("k", 75, 85, 2),
    )  # fmt: skip
    found = causes_of(t)
    assert found["synchronisation"] == [(10, 20)]
    assert found["data_loader"] == [(30, 50)]
    assert found["host_operator"] == [(60, 70)]
    assert found["host_code"] == [(20, 30), (50, 60)]
    assert "unknown" not in found or found["unknown"] == [(85, 90)]


def test_the_launching_thread_counts_before_others() -> None:
    """The launching thread has precedence."""
    t = trace(
        launch(0, 1, 1, thread=1), kernel("k", 1, 10, 1),
        op("aten::mm", 12, 30, thread=1), launch(28, 29, 2, thread=1), kernel("k", 29, 40, 2),
        annotation("enumerate(DataLoader)#it", 10, 30, thread=2),
    )  # fmt: skip
    assert causes_of(t)["host_operator"] == [(12, 28)]
    assert causes_of(t)["data_loader"] == [(10, 12)]


def test_python_of_another_thread_is_no_cause() -> None:
    """Python code of other threads is not a cause."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1), launch(20, 21, 2), kernel("k", 21, 30, 2),
        frame("threading.py(359): wait", 0, 30, thread=9),
    )  # fmt: skip
    assert causes_of(t)["unknown"] == [(10, 20)]


def test_gloo_and_barriers_are_waits_for_communication() -> None:
    """Gloo and barriers wait for other ranks."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1), launch(50, 51, 2), kernel("k", 51, 60, 2),
        annotation("gloo:all_reduce", 12, 20, thread=7), op("c10d::barrier", 30, 40),
    )  # fmt: skip
    assert causes_of(t)["communication_wait"] == [(12, 20), (30, 40)]


def test_waiting_for_an_event_on_the_stream_is_no_synchronisation() -> None:
    """A stream's wait for an event does not block the host."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1), launch(50, 51, 2), kernel("k", 51, 60, 2),
        span("cuda_runtime", "cudaStreamWaitEvent", 12, 20),
        span("cuda_runtime", "cudaEventSynchronize", 22, 30),
        span("cuda_runtime", "hipDeviceSynchronize", 32, 34),
        frame("<built-in function _npu_synchronize>", 36, 38),
        frame("runner.py(1): synchronize_input_prep", 40, 42),
    )  # fmt: skip
    found = causes_of(t)
    assert found["synchronisation"] == [(22, 30), (32, 34), (36, 38)]
    assert found["host_operator"] == [(12, 20)]
    assert found["host_code"] == [(40, 42)]


def test_a_call_that_outlives_its_copy_is_a_synchronization() -> None:
    """A call that ends after its copy is a synchronization."""
    t = trace(
        launch(0, 30, 1), kernel("Memcpy DtoH", 5, 20, 1, category="gpu_memcpy"),
        launch(40, 41, 2), kernel("k", 41, 60, 2),
    )  # fmt: skip
    assert causes_of(t)["synchronisation"] == [(20, 30)]


def test_activity_without_a_known_launch_has_an_unknown_cause() -> None:
    """Without a known launch the cause is unknown."""
    t = trace(op("a", 0, 40), kernel("k", 1, 10), kernel("k", 20, 30))
    assert causes_of(t)["unknown"] == [(0, 1), (10, 20)]


def test_in_inferred_times_an_activity_is_launched_a_latency_before_it() -> None:
    """Inferred launches precede by one latency."""
    ops = [op("aten::mm", 20 * i, 20 * i + 10, id=i + 1) for i in range(6)]
    t = trace(step(1, 0, 200), *ops, elapsed={i + 1: 5 for i in range(6)})
    assert t.meta.timeline == "inferred"
    assert t.meta.grounds is not None
    constant = next(c for c in t.meta.grounds.constants if c.name == "launch_latency")
    found = idle_causes.find_gaps(t)
    begun = t.kernels.start_ns[found.kernel[:-1]]
    early = np.maximum(begun - constant.value_ns, t.ops.start_ns[t.kernels.op[found.kernel[:-1]]])
    assert found.submitted_ns[:-1].tolist() == early.tolist()
    assert all(cause.bound_ns is None for cause in overview(t).idle)


def test_a_step_whose_neighbour_runs_between_its_activities_says_so() -> None:
    """Another step's activities are ``other_step``."""
    t = trace(
        step(1, 0, 100), step(2, 100, 200),
        launch(10, 11, 1), launch(90, 91, 2), launch(110, 111, 3),
        kernel("k", 20, 30, 1), kernel("k", 120, 130, 3, stream=8), kernel("k", 150, 160, 2),
    )  # fmt: skip
    result = overview(t, step=1)
    found = {c.cause: c.idle_ns for c in result.idle}
    assert found["other_step"] == 10_000
    assert sum(found.values()) == result.totals.idle_ns == 120_000


def test_without_device_times_there_are_no_causes() -> None:
    """Without device times the table is empty."""
    for empty in (Trace(), trace(op("a", 0, 10))):
        result = overview(empty)
        assert (result.idle, result.idle_steps, result.idle_before) == ((), (), ())


def test_idle_time_by_awaited_operator() -> None:
    """Idle time is listed by the operator that ends it."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1),
        op("a", 10, 20), launch(12, 13, 2), kernel("k", 15, 20, 2),
        op("b", 20, 40), launch(22, 23, 3), kernel("k", 35, 36, 3),
        op("b", 36, 50), launch(42, 43, 4), kernel("k", 45, 46, 4),
    )  # fmt: skip
    rows = [(r.name, r.gaps, r.idle_ns, r.longest_start_ns) for r in overview(t).idle_before]
    assert rows == [("b", 2, 24_000, 20_000), ("a", 1, 5_000, 10_000)]


def _random(seed: int) -> tuple[Trace, list[dict[str, Any]]]:
    """Build a recording of some threads and streams with all possible causes."""
    random = np.random.default_rng(seed)
    names = [
        ("cuda_runtime", "cudaStreamSynchronize"), ("cuda_runtime", "cudaMalloc"),
        ("user_annotation", "enumerate(DataLoader)#it"), ("user_annotation", "forward"),
        ("cpu_op", "aten::mm"), ("cpu_op", "c10d::barrier"), ("python_function", "a.py(1): f"),
    ]  # fmt: skip
    events = [step(1, 0, 150), step(2, 150, 290)]
    for _ in range(30):
        at, length = int(random.integers(0, 280)), int(random.integers(0, 25))
        category, name = names[random.integers(len(names))]
        events.append(span(category, name, at, at + length, thread=int(random.integers(1, 4))))
    for number in range(int(random.integers(1, 14))):
        at, wait, length = (int(random.integers(*r)) for r in ((0, 250), (-2, 20), (0, 18)))
        if random.random() < 0.85:
            events.append(launch(at, at + 2, number + 1, thread=int(random.integers(1, 4))))
        start = max(at + wait, 0)
        stream = int(random.integers(7, 9))
        events.append(kernel("k", start, start + length, number + 1, stream=stream))
    return trace(*events), events


def _cause(t: Trace, events: list[dict[str, Any]], at: float) -> str | None:
    """Return the cause at one instant (µs) from all events; None if the device is busy."""
    kernels = [e for e in events if e["cat"] == "kernel"]
    if any(k["ts"] <= at < k["ts"] + k["dur"] for k in kernels):
        return None
    coming = [k["ts"] for k in kernels if k["ts"] > at and k["dur"] > 0]
    thread = None
    if coming:
        row = int(np.flatnonzero(t.kernels.start_ns == min(coming) * 1000)[0])
        if t.kernels.launch[row] < 0 and t.kernels.op[row] < 0:
            return "unknown"
        made = t.kernels.launch[row]
        submitted = t.launches.start_ns[made] if made >= 0 else t.ops.end_ns[t.kernels.op[row]]
        if at * 1000 >= submitted:
            return "launch_latency"
        owner = t.launches.thread[made] if made >= 0 else t.ops.thread[t.kernels.op[row]]
        thread = int(t.text(t.threads.tid[owner]))
    now = [e for e in events if e["ts"] <= at < e["ts"] + e.get("dur", 0) and e["cat"] != "kernel"]
    kinds = {
        "synchronisation": lambda e: "Synchronize" in e["name"],
        "communication_wait": lambda e: "barrier" in e["name"],
        "data_loader": lambda e: e["name"].startswith("enumerate(DataLoader)"),
        "host_operator": lambda e: e["cat"] in ("cpu_op", "cuda_runtime"),
    }
    for some in ([e for e in now if e["tid"] == thread], now):
        for cause, fits in kinds.items():
            if any(fits(e) for e in some):
                return cause
    code = ("python_function", "user_annotation")
    own = [e for e in now if e["tid"] == thread and e["cat"] in code]
    return "host_code" if any("ProfilerStep" not in e["name"] for e in own) else "unknown"


@pytest.mark.parametrize("seed", range(60))
def test_every_instant_has_the_cause_of_a_direct_check(seed: int) -> None:
    """Every instant has the cause of the direct check."""
    t, events = _random(seed)
    base = min(e["ts"] for e in events)
    assert t.start_ns == base * 1000
    events = [{**e, "ts": e["ts"] - base} for e in events]
    found = idle_causes.find_gaps(t)
    sets = idle_causes.attribute_gaps(t, found)
    assert tuple(sets) == idle_causes.CAUSES
    first = min(0, int(t.kernels.start_ns.min()))
    instants = np.arange(first / 1000 + 0.5, t.steps.end_ns.max() / 1000)
    starts = instants * 1000
    covers = {c: intervals.covered_length(one, starts, starts + 1) for c, one in sets.items()}
    for i, at in enumerate(instants):
        here = [cause for cause, covered in covers.items() if covered[i]]
        expected = _cause(t, events, float(at))
        assert here == ([] if expected is None else [expected]), at


@pytest.mark.parametrize("seed", range(60))
def test_causes_sum_to_the_idle_time_in_total_and_by_step(seed: int) -> None:
    """Causes sum to the idle time."""
    t, _ = _random(seed)
    _sums(t)


@pytest.mark.parametrize(("lanes", "hosted"), [(1, False), (2, True)])
@pytest.mark.parametrize("seed", range(6))
def test_inferred_causes_sum_too_and_idle_is_within_its_bound(
    seed: int, lanes: int, hosted: bool
) -> None:
    """Causes of inferred times sum to the idle time, too."""
    shown, true = pair(seed, lanes, hosted)
    _sums(shown)
    rows = zip(overview(shown).idle_steps, overview(true).idle_steps, strict=True)
    for mine, theirs in rows:
        assert mine.idle_bound_ns is not None
        assert abs(mine.idle_ns - theirs.idle_ns) <= mine.idle_bound_ns


@needs_traces
@pytest.mark.parametrize("path", TRACES, ids=lambda p: f"{p.parent.name}-{p.name[:12]}")
def test_causes_of_real_traces_sum_to_the_idle_time(path: Path) -> None:
    """Causes of real traces sum to the idle time."""
    _sums(load(path))


@needs_traces
def test_a_slow_data_loader_is_found() -> None:
    """Of two recordings of one program, the one without workers waits for its data."""
    shares = []
    for workers in (0, 4):
        t = load(next((FOLDER / "cuda" / f"v100_resnet50_workers{workers}").glob("*.pt.trace.*")))
        causes = {c.cause: c.share for c in overview(t).idle}
        shares.append(causes["data_loader"])
    assert shares[0] > 0.7
    assert shares[1] < 0.05


def _sums(t: Trace) -> None:
    """Check all sums: in total, in each step, and for each selected step."""
    numbers = [t.text(name).rpartition("#")[2] for name in t.steps.name]
    for selected in (None, *(int(n) for n in numbers if n.isdigit())):
        result = overview(t, step=selected)
        assert sum(c.idle_ns for c in result.idle) == (result.totals.idle_ns or 0)
        assert all(c.idle_ns >= c.longest_ns >= 0 for c in result.idle)
    if not len(t.kernels):
        return
    start, end = t.steps.start_ns, t.steps.end_ns
    busy = intervals.covered_length(breakdown.busy(t.kernels), start, end)
    for row, free in zip(result.idle_steps, (end - start - busy).tolist(), strict=True):
        columns = dataclasses.asdict(row)
        assert row.idle_ns == free
        assert sum(columns[f"{cause}_ns"] for cause in idle_causes.CAUSES) == free
    assert len(table.idle_table(t, t.kernels).awaited) <= 10
