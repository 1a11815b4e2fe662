"""Clocks with ticks of 10 µs to 1 ms, on which many events share an instant."""

from __future__ import annotations

import gzip
import json
from itertools import cycle, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.analysis.simulation import dependency_graph, node_order
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.whatif import whatif
from tests.support.invariants import QUICK_OPTIONS
from tests.support.make import Event, kernel, launch, op, span, step, trace
from tests.support.repeats import LONG, sampled
from tests.support.results import result
from tests.support.shared_traces import TRACES, load, needs_traces
from tests.unit.analysis.simulation import test_critical_path

OWN = sorted((Path(__file__).parents[3] / "traces").glob("*/*.pt.trace.json.gz"))

TICKS_US = (10, 100, 1000)
_CHOSEN = product(TRACES, TICKS_US) if LONG else zip(sampled(TRACES), cycle(TICKS_US))
"""Each second recording has one of the clocks, in turn; in `make long` each has all of them."""
SHARED = [pytest.param(path, us, id=f"{path.parent.name}-{us}") for path, us in _CHOSEN]


def check(made: Trace) -> None:
    """Check that the replay equals the recording, edges lead forward, and paths fill steps."""
    graph = dependency_graph.build_graph(made)
    own = graph.network.replay(graph.weights)
    assert own.tolist() == graph.time_ns.tolist()
    bare = graph.weights.without_delays(np.ones(len(own), np.bool_))
    assert (graph.network.replay(bare) <= own).all()
    edges = graph.edges
    _, forward = node_order.settled(graph.time_ns, graph.before, edges.source, edges.target)
    assert forward.all()
    test_critical_path.tiles(made)
    answer = result(whatif, made, **QUICK_OPTIONS["whatif"])
    assert len(answer.steps) == len(judged_part(made).steps)


def coarse(source: Path, tick_us: int, folder: Path) -> Path:
    """Return a trace with all times rounded down to ticks, and its unchanged sidecar."""
    opened: Any = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt") as file:
        document = json.load(file)
    events = document["traceEvents"] if isinstance(document, dict) else document
    for event in events:
        for key in ("ts", "dur"):
            if isinstance(event.get(key), int | float):
                event[key] = int(event[key] // tick_us * tick_us)
    target = folder / source.name.removesuffix(".gz")
    target.write_text(json.dumps(document))
    beside = Path(str(source).replace(".pt.trace.", ".kernel_event."))
    if beside.exists():
        (folder / beside.name).write_bytes(beside.read_bytes())
    return target


@pytest.mark.long
@pytest.mark.parametrize("tick_us", TICKS_US)
@pytest.mark.parametrize("path", OWN, ids=lambda p: p.parent.name)
def test_a_real_trace_on_a_coarse_clock(path: Path, tick_us: int, tmp_path: Path) -> None:
    """Real traces work on a coarse clock."""
    check(load(coarse(path, tick_us, tmp_path)))


@needs_traces
@pytest.mark.parametrize(("path", "tick_us"), SHARED)
def test_a_shared_trace_on_a_coarse_clock(path: Path, tick_us: int, tmp_path: Path) -> None:
    check(load(coarse(path, tick_us, tmp_path)))


@st.composite
def tiny(draw: st.DrawFn) -> list[Event]:
    """Build a few operators, launches, activities, waits and steps within three instants."""

    def times() -> tuple[int, int]:
        start, end = sorted(draw(st.tuples(st.integers(0, 3), st.integers(0, 3))))
        return 10 * start, 10 * end

    events = [step(number, *times()) for number in range(draw(st.integers(0, 2)))]
    for number in range(draw(st.integers(1, 6))):
        thread = draw(st.integers(1, 2))
        backward = draw(st.booleans())
        name = "autograd::engine::evaluate_function: M" if backward else "aten::mm"
        events.append(op(name, *times(), id=number, thread=thread))
        events.append(launch(*times(), number, thread=thread))
        stream = draw(st.integers(7, 8))
        copies = draw(st.booleans())
        category: dict[str, Any] = {"category": "gpu_memcpy"} if copies else {}
        events.append(kernel("k", *times(), number, stream, **category))
        if draw(st.booleans()):
            call = draw(st.sampled_from(["cudaStreamSynchronize", "cudaMemcpyAsync"]))
            correlation = {"correlation": number + 100} if call == "cudaMemcpyAsync" else {}
            events.append(span("cuda_runtime", call, *times(), thread=thread, **correlation))
            if correlation:
                events.append(kernel("c", *times(), number + 100, stream, category="gpu_memcpy"))
    return events


@pytest.mark.long
@given(tiny())
def test_a_few_events_at_equal_times(events: list[Event]) -> None:
    """Random events at equal times work."""
    check(trace(*events))


def test_a_wait_of_no_length() -> None:
    """A launch, its activity and the wait for it, all at one instant."""
    made = trace(
        step(1, 0, 40),
        op("aten::mm", 10, 20),
        launch(10, 10, 1),
        kernel("mm", 10, 10, 1),
        span("cuda_runtime", "cudaStreamSynchronize", 10, 10),
        op("aten::add", 20, 30),
    )
    check(made)
    kinds = dependency_graph.build_graph(made).edges.kind
    assert sorted(kinds.tolist()) == [dependency_graph.LAUNCH, dependency_graph.WAIT]


def test_the_circle_of_five_events() -> None:
    """Seconds instead of microseconds: all events within about a nanosecond."""
    at = 1682725898
    check(
        trace(
            kernel("Memcpy HtoD", at + 0.233911, at + 0.233913, 1, 23, category="gpu_memcpy"),
            kernel("k", at + 0.247408, at + 0.247414, 2),
            span("cuda_runtime", "cudaLaunchKernel", at + 0.2324638, at + 0.2324728),
            span("cuda_runtime", "cudaMemcpyAsync", at + 0.233878, at + 0.233909, correlation=1),
            span("cuda_runtime", "cudaLaunchKernel", at + 0.235059, at + 0.235078, correlation=2),
        )
    )
