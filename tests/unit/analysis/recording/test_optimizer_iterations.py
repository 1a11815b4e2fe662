"""Iterations of a training loop by its optimizer's steps."""

import json
from pathlib import Path

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.analysis.recording.iterations import iterations, optimizer_iterations
from tb_privateuse1.analysis.recording.summary import summary
from tb_privateuse1.readers import chrome
from tb_privateuse1.trace.model import Trace
from tests.support.make import Event, annotation, document, kernel, launch, op, span, trace
from tests.support.shared_traces import FOLDER, needs_traces, read

STEP = "Optimizer.step#SGD.step"


def _loop(count: int, begin: float = 0, *, per_iteration: int = 1, spare: int = 0) -> list[Event]:
    """Iterations of 100 us: three operators with a kernel each, then an optimizer's step."""
    events = []
    for i in range(count):
        at = begin + 100 * i
        names = ["aten::mm", "aten::relu", "aten::add"]
        if per_iteration > 1:
            names[1] = f"aten::branch{i % per_iteration}"
        for k, name in enumerate(names[spare if not i else 0 :]):
            start, number = at + 20 * k, 10 * i + k + 1
            events += [op(name, start, start + 15, number), launch(start + 1, start + 2, number)]
            events.append(kernel(name, start + 5, start + 12, number))
        events.append(annotation(STEP, at + 70, at + 90))
    return events


def _found(t: Trace) -> list[tuple[int, int]]:
    found = optimizer_iterations(t)
    assert found is not None
    return [(int(s) // 1000, int(e) // 1000) for s, e in zip(*found, strict=True)]


def test_each_step_ends_an_iteration() -> None:
    assert _found(trace(*_loop(4))) == [(0, 90), (90, 190), (190, 290), (290, 390)]


def test_a_recording_that_begins_within_an_iteration() -> None:
    assert _found(trace(*_loop(4, spare=2)))[0] == (90, 190)


@pytest.mark.parametrize("several", [2, 3])
def test_several_steps_per_iteration(several: int) -> None:
    found = _found(trace(*_loop(4 * several, per_iteration=several)))
    assert {end - start for start, end in found[1:]} == {100 * several}


def test_two_steps_are_no_loop() -> None:
    assert optimizer_iterations(trace(*_loop(2))) is None


def _start(length: float) -> list[Event]:
    """A context's creation, as the first operator makes it."""
    call = span("cuda_runtime", "cudaFree", 10, length - 10, correlation=9001)
    return [op("aten::empty", 0, length, 9000), call]


def test_start_up_is_named_and_what_follows_is_judged() -> None:
    t = trace(*_start(50_000), *_loop(30, 50_000))
    found = summary(t)
    assert (found.kind, found.workload) == ("partly_steady", "training")
    assert found.iterations == 30
    assert found.steady_step_ns is not None
    assert abs(found.steady_step_ns - 100_000) < 1_000
    assert [(phase.kind, phase.event) for phase in found.phases] == [
        ("startup", "cudaFree"),
        ("steady", ""),
    ]
    assert "30 iterations of 99.7 µs analyzed" in found.sentence


def test_a_loop_without_start_stays_judged_as_a_whole() -> None:
    found = summary(trace(*_loop(30)))
    assert found.kind == "steady"
    assert "analyzed" in found.sentence
    assert [phase.kind for phase in found.phases] == ["steady"]


def test_steps_of_the_profiler_come_first() -> None:
    steps = [annotation(f"ProfilerStep#{i}", 200 * i, 200 * i + 199) for i in range(3)]
    found = iterations(trace(*_loop(6), *steps))
    assert found is not None
    assert found.source == "steps"


def test_a_loop_repeats_behind_a_start_without_an_optimizer(tmp_path: Path) -> None:
    first = [op(f"load{i}", 10 * i, 10 * i + 9, 9000 + i) for i in range(4)]
    loop = [event for event in _loop(6, 100) if event["name"] != STEP]
    for event in loop:
        event["args"].pop("correlation", None)
    path = tmp_path / "a.json"
    host = [event for event in loop if event["cat"] == "cpu_op"]
    path.write_text(json.dumps(document(*first, *host)))
    found = iterations(inference.build_trace(chrome.read(str(path)), None))
    assert found is not None
    assert (found.source, len(found.start_ns)) == ("repetition", 6)


@needs_traces
def test_the_case_of_a_start_that_hides_the_loop() -> None:
    t = read(next((FOLDER.parent / "cases" / "startup-hides-steady").iterdir()))
    found = summary(t)
    assert (found.workload, found.iterations) == ("training", 40)
    assert found.sentence == (
        "Training, 40 iterations of 22.0 ms analyzed. Left out: start-up (996 ms)."
    )
    start = found.phases[0]
    assert (start.kind, start.end_ns) == ("startup", 996_000_000)
    assert "cudaFree takes 714 ms" in start.sentence
    assert "cudaFree takes 266 ms" in start.sentence
