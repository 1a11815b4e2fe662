"""Classes of time: in small traces, and at random against a check of every µs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_privateuse1.analysis.account import classification, host_chain
from tb_privateuse1.analysis.account.classes import CLASSES, IDLE, NAMES, ClassName
from tb_privateuse1.analysis.account.table import account_table
from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.analysis.threads import roles as thread_roles
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tests.support.make import annotation, frame, kernel, launch, op, span, step, trace
from tests.support.repeats import repeats, sampled
from tests.support.shared_traces import FOLDER, TRACES, load, needs_traces

Interval = tuple[float, float]


def classes_of(t: Trace) -> dict[str, list[Interval]]:
    """Return the intervals of each class in µs; neighbors of one class are joined."""
    return {
        name: [(a / 1000, b / 1000) for a, b in zip(*times, strict=True)]
        for name, times in classification.class_sets(t).items()
    }


def test_each_class_has_its_number() -> None:
    """The registry is in the order of the names."""
    assert tuple(c.name for c in CLASSES) == NAMES
    assert set(IDLE) | set(classification.KINDS) == set(NAMES)


def test_the_launcher_of_a_recording_is_no_profiler() -> None:
    """``python -m tb_privateuse1.capture train.py`` runs the whole program inside its frames."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1), launch(85, 86, 2), kernel("k", 87, 90, 2),
        frame("tb_privateuse1/capture/__main__.py(158): _run", 0, 90),
        frame("train.py(3): <module>", 0, 80),
        frame("tb_privateuse1/capture/profiler.py(20): step", 40, 60),
    )  # fmt: skip
    assert classes_of(t)["profiler"] == [(40, 60)]


def test_until_the_launch_returns_it_is_the_host_and_then_the_queue() -> None:
    """The launch's return separates host and queue."""
    t = trace(
        op("a", 0, 9), launch(1, 2, 1), kernel("k", 5, 10, 1),
        op("b", 14, 30), launch(20, 22, 2), kernel("k", 27, 29, 2),
    )  # fmt: skip
    assert classes_of(t) == {
        "kernel": [(5, 10), (27, 29)],
        "dispatch": [(0, 1), (14, 20), (29, 30)],
        "launch_call": [(1, 2), (20, 22)],
        "launch_latency": [(2, 5), (22, 27)],
        "python": [(10, 14)],
    }


def test_of_what_the_host_does_at_once_the_first_class_counts() -> None:
    """The first of simultaneous classes counts."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1),
        frame("train.py(3): main", 0, 90),
        span("cuda_runtime", "cudaStreamSynchronize", 5, 20),
        span("cuda_runtime", "cudaMalloc", 22, 26),
        frame("<built-in method acquire of _thread.lock object>", 27, 29),
        annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 30, 50),
        op("aten::stack", 35, 45), op("aten::mm", 60, 80), launch(70, 71, 2),
        kernel("k", 75, 85, 2),
    )  # fmt: skip
    found = classes_of(t)
    assert found["synchronization"] == [(10, 20)]
    assert found["device_memory"] == [(22, 26)]
    assert found["file_or_lock"] == [(27, 29)]
    assert found["input"] == [(30, 50)]
    assert found["dispatch"] == [(60, 70)]
    assert found["launch_call"] == [(0, 1), (70, 71)]
    assert found["python"] == [(20, 22), (26, 27), (29, 30), (50, 60), (85, 90)]


def test_the_launching_thread_counts_before_others() -> None:
    """The launching thread has precedence."""
    t = trace(
        launch(0, 1, 1, thread=1), kernel("k", 1, 10, 1),
        op("aten::mm", 12, 30, thread=1), launch(28, 29, 2, thread=1), kernel("k", 29, 40, 2),
        annotation("enumerate(DataLoader)#it", 10, 30, thread=2),
    )  # fmt: skip
    assert classes_of(t)["dispatch"] == [(12, 28)]


def test_a_waiting_thread_is_no_class() -> None:
    """Python frames of a monitor do not explain what the device waits for."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1), launch(20, 21, 2), kernel("k", 21, 30, 2),
        frame("threading.py(359): wait", 0, 30, thread=9),
    )  # fmt: skip
    assert classes_of(t)["python"] == [(10, 20)]


def test_gloo_and_barriers_are_waits_for_other_ranks() -> None:
    """Barriers on the launching thread wait for other ranks."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1), launch(50, 51, 2), kernel("k", 51, 60, 2),
        op("c10d::barrier", 30, 40), op("gloo:all_reduce", 42, 44),
    )  # fmt: skip
    assert classes_of(t)["other_rank"][0] == (30, 40)


def test_waiting_for_an_event_on_the_stream_is_no_synchronization() -> None:
    """A stream's wait for an event does not block the host."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1), launch(50, 51, 2), kernel("k", 51, 60, 2),
        span("cuda_runtime", "cudaStreamWaitEvent", 12, 20),
        span("cuda_runtime", "cudaEventSynchronize", 22, 30),
        span("cuda_runtime", "hipDeviceSynchronize", 32, 34),
        frame("<built-in function _npu_synchronize>", 36, 38),
        frame("runner.py(1): synchronize_input_prep", 40, 42),
    )  # fmt: skip
    found = classes_of(t)
    assert found["synchronization"] == [(22, 30), (32, 34), (36, 38)]
    assert found["launch_call"] == [(0, 1), (12, 20), (50, 51)]
    assert (40, 42) not in found["synchronization"]


def test_a_blocking_copy_is_no_launch_latency() -> None:
    """A call that returns after its copy blocks the host, also before the copy begins."""
    t = trace(
        launch(0, 30, 1), kernel("Memcpy DtoH", 15, 20, 1, category="gpu_memcpy"),
        launch(40, 41, 2), kernel("k", 41, 60, 2),
    )  # fmt: skip
    found = classes_of(t)
    assert found["blocking_copy"] == [(0, 15), (20, 30)]
    assert found["exposed_copy"] == [(15, 20)]
    assert "launch_latency" not in found


def test_a_queue_that_stands_still_while_the_host_is_blocked() -> None:
    """A queued activity waits for work that is not recorded: the host's call is named."""
    events = [op("aten::mm", 0, 150), launch(0, 1, 50), kernel("k", 2, 99, 50)]
    for i in range(8):
        events += [launch(i, i + 0.5, i + 1), kernel("k", 100 + 2 * i, 101 + 2 * i, i + 1)]
    t = trace(
        *events, launch(102, 103, 20), span("cuda_runtime", "cudaStreamSynchronize", 120, 5000),
        kernel("k", 4990, 4995, 20),
    )  # fmt: skip
    found = classes_of(t)
    assert found["queued_gap"][:3] == [(99, 100), (101, 102), (103, 104)]
    assert found["synchronization"] == [(120, 4990), (4995, 5000)]


def test_activity_without_a_known_launch() -> None:
    """Without a known launch there is no reason, unless its stream has a later one."""
    t = trace(op("a", 0, 40), kernel("k", 1, 10), kernel("k", 20, 30))
    assert classes_of(t)["unknown_launch"] == [(0, 1), (10, 20)]
    t = trace(
        op("a", 0, 40), kernel("dma", 20, 30), launch(25, 26, 1), kernel("k", 30, 40, 1),
    )  # fmt: skip
    assert classes_of(t)["dispatch"] == [(0, 20)]


def test_an_activity_before_its_launch_is_a_doubt_about_the_clocks() -> None:
    """The clocks disagree by as much as the activity is early."""
    t = trace(
        launch(0, 1, 1), kernel("k", 1, 10, 1), op("a", 10, 40), launch(24, 25, 2),
        kernel("k", 20, 30, 2),
    )  # fmt: skip
    assert classes_of(t)["clock_doubt"] == [(16, 20)]


def test_a_worker_that_has_not_begun_waits_for_the_main_thread() -> None:
    """Before a backward pass begins, the main thread's work counts; inside, the engine's."""
    events = []
    for i in range(4):
        at = 1000 * i
        events += [
            annotation(f"ProfilerStep#{i}", at, at + 990),
            op("aten::mm", at + 10, at + 100), launch(at + 20, at + 21, 2 * i + 1),
            kernel("k", at + 22, at + 30, 2 * i + 1), op("aten::mul", at + 510, at + 900),
            op("MmBackward0", at + 120, at + 300, thread=2),
            op("MulBackward0", at + 320, at + 500, thread=2),
            launch(at + 400, at + 401, 2 * i + 2, thread=2),
            kernel("k", at + 402, at + 700, 2 * i + 2),
        ]  # fmt: skip
    found = classes_of(trace(*events))
    assert (30, 100) in found["dispatch"]
    assert (120, 400) in found["dispatch"]


def test_devices_have_accounts_of_their_own() -> None:
    """An instant is idle for one device and not for another."""
    t = trace(
        launch(0, 1, 1), kernel("k", 2, 10, 1), launch(10, 11, 2),
        kernel("k", 12, 20, 2, device=1),
    )  # fmt: skip
    whole = classification.classify_time(t)
    for device, busy in ((None, 16_000), (0, 8_000), (1, 8_000)):
        one = classification.classify_time(t, device)
        own = one.time_class == NAMES.index("kernel")
        assert int((one.end_ns - one.start_ns)[own].sum()) == busy
        assert (one.start_ns[0], one.end_ns[-1]) == (whole.start_ns[0], whole.end_ns[-1])


def test_a_program_on_the_host_alone_has_an_account() -> None:
    """Without a device all time is the host's."""
    found = classes_of(trace(op("aten::mm", 0, 10), op("aten::mm", 12, 20)))
    assert found == {"dispatch": [(0, 10), (12, 20)], "python": [(10, 12)]}
    assert classes_of(Trace()) == {}


def _random(seed: int) -> tuple[Trace, list[dict[str, Any]]]:
    """Build a recording of some threads and streams with all kinds of events."""
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


KINDS: dict[ClassName, Any] = {
    "synchronization": lambda e: "Synchronize" in e["name"],
    "device_memory": lambda e: "Malloc" in e["name"],
    "other_rank": lambda e: "barrier" in e["name"],
    "input": lambda e: e["name"].startswith("enumerate(DataLoader)"),
    "launch_call": lambda e: e["cat"] == "cuda_runtime",
    "dispatch": lambda e: e["cat"] == "cpu_op",
    "python": lambda e: (
        e["cat"] in ("python_function", "user_annotation") and "ProfilerStep" not in e["name"]
    ),
}


@pytest.mark.parametrize("seed", range(repeats(12)))
def test_every_instant_of_the_host_has_the_class_of_a_direct_check(seed: int) -> None:
    """The class of each instant is the first that fits an event of the thread."""
    t, events = _random(seed)
    base = min(e["ts"] for e in events)
    driving = thread_roles.thread_roles(t).driving
    for at in np.arange(0.5, 290):
        for thread in np.flatnonzero(driving).tolist():
            own = [
                e
                for e in events
                if e["cat"] != "kernel"
                and str(e["tid"]) == t.text(t.threads.tid[thread])
                and e["ts"] - base <= at < e["ts"] - base + e["dur"]
            ]
            expected = next((c for c, fits in KINDS.items() if any(map(fits, own))), None)
            instant = np.array([int(at * 1000)]), np.array([int(at * 1000) + 1])
            found = host_chain.host_intervals(t, np.array([thread], np.int32), *instant)
            own_event = (found.thread == thread) & (found.row >= 0)
            assert len(found) == 1, at
            assert [NAMES[c] for c in found.time_class[own_event]] == (
                [expected] if expected else []
            ), at


@pytest.mark.parametrize("seed", range(repeats(60)))
def test_intervals_tile_the_recording(seed: int) -> None:
    """Every instant is in exactly one interval, and idle classes are where nothing runs."""
    check(_random(seed)[0])


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES), ids=lambda p: f"{p.parent.name}-{p.name[:12]}")
def test_intervals_tile_real_recordings(path: Path) -> None:
    """Every instant of real recordings is in one interval, and little is without a reason."""
    t = load(path)
    check(t)
    steps = intervals.union(t.steps.start_ns, t.steps.end_ns)
    for window in (steps, judged_part(t).window):
        account = account_table(t, window)
        shares = {c.name: c.share for c in account.classes}
        nameless = shares.get("unattributed", 0) + shares.get("unknown_launch", 0)
        assert nameless < 0.05 or account.missing


@needs_traces
def test_a_slow_data_loader_is_found() -> None:
    """Of two recordings of one program, the one without workers waits for its data."""
    shares = []
    for workers in (0, 4):
        t = load(next((FOLDER / "cuda" / f"v100_resnet50_workers{workers}").glob("*.pt.trace.*")))
        sets = classification.class_sets(t)
        idle = sum(intervals.length(sets[name]) for name in IDLE if name in sets)
        shares.append(intervals.length(sets["input"]) / idle)
    assert shares[0] > 0.7
    assert shares[1] < 0.05


def check(t: Trace) -> None:
    """Check that the intervals tile the recording and agree with the breakdown of steps."""
    every = classification.classify_time(t)
    if not len(every):
        return
    assert (every.start_ns[1:] == every.end_ns[:-1]).all()
    assert (every.end_ns > every.start_ns).all()
    assert every.start_ns[0] <= 0
    assert every.end_ns[-1] >= t.end_ns
    idle = np.isin(every.time_class, [NAMES.index(name) for name in IDLE])
    free = intervals.union(every.start_ns[idle], every.end_ns[idle])
    busy = breakdown.busy(t.kernels)
    assert intervals.length(intervals.intersect(free, busy)) == 0
    assert intervals.length(free) + intervals.length(busy) == every.end_ns[-1] - every.start_ns[0]
    sets, steps, parts = classification.class_sets(t), t.steps, breakdown.step_breakdown(t)
    exposed: dict[ClassName, str] = {"exposed_copy": "memcpy", "exposed_fill": "memset"}
    for name, part in {"kernel": "kernel", **exposed}.items():
        times = sets.get(name, intervals.EMPTY)
        covered = intervals.covered_length(times, steps.start_ns, steps.end_ns)
        assert covered.tolist() == parts[part].tolist()


@pytest.mark.parametrize(("gap", "waits"), [(30, True), (0, False)])
def test_the_device_waits_for_python_in_a_relevant_share(gap: int, waits: bool) -> None:
    made = trace(
        step(1, 0, 100), frame("f", 0, 100),
        op("a", 0, 5), launch(1, 3, 1), kernel("k", 5, 40, 1),
        op("a", 40 + gap, 45 + gap), launch(41 + gap, 43 + gap, 2),
        kernel("k", 45 + gap, 100, 2),
    )  # fmt: skip
    assert classification.waits_for_python(made) == waits
