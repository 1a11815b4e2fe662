"""Time per iteration of a serving engine."""

from tb_privateuse1.analysis.recording.summary import summary
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.overview import overview
from tests.support.make import Event, annotation, kernel, launch, op, step, trace
from tests.support.shared_traces import FOLDER, needs_traces, read


def _served(names: list[str], each: float = 100, busy: float = 60) -> list[Event]:
    events = []
    for i, name in enumerate(names):
        at, number = each * i, i + 1
        events += [annotation(name, at, at + busy), op("aten::mm", at + 5, at + 20, number)]
        events += [launch(at + 6, at + 8, number), kernel("gemm", at + 10, at + 50, number)]
    return events


def _engine(count: int) -> Trace:
    return trace(
        *_served([f"execute_context_0(0)_generation_{i}(16)" for i in range(1, count + 1)])
    )


def test_an_iteration_lasts_until_the_next_begins() -> None:
    found = summary(_engine(10))
    assert found.sentence.startswith("Serving (10 decode iterations of 100 µs)")
    assert (found.iterations, found.iteration_ns, found.steady_step_ns) == (10, 100_000, 100_000)
    result = overview(_engine(10))
    assert result.average_step_ns == 100_000
    assert result.spread is not None
    assert (result.spread.min_ns, result.spread.max_ns) == (100_000, 100_000)


def test_prefill_and_decode_have_times_of_their_own() -> None:
    names = ["step[EXTEND bs=1]", "step[DECODE bs=1]", "step[DECODE bs=1]"] * 4
    events, at = [], 0.0
    for i, name in enumerate(names):
        length = 300.0 if "EXTEND" in name else 100.0
        events += [annotation(name, at, at + length - 5), op("aten::mm", at + 1, at + 2, i + 1)]
        at += length
    sentence = summary(trace(*events)).sentence
    assert "4 prefill iterations of 300 µs, 8 decode iterations of 100 µs" in sentence


def test_an_iteration_of_both_kinds_is_mixed() -> None:
    names = [f"execute_context_2(90)_generation_{i + 1}(16)" for i in range(4)]
    sentence = summary(trace(*_served(names))).sentence
    assert sentence.startswith("Serving (4 mixed iterations of 100 µs)")


def test_a_single_iteration_has_no_time_to_the_next() -> None:
    found = summary(_engine(1))
    assert found.sentence.startswith("Serving (1 decode iteration),")
    assert (found.iterations, found.iteration_ns) == (None, None)


def test_steps_of_the_profiler_keep_their_own_time() -> None:
    steps = [step(i, 500 * i, 500 * i + 499) for i in range(2)]
    names = [f"generation_{i + 1}" for i in range(10)]
    found = overview(trace(*_served(names), *steps))
    assert found.average_step_ns is not None
    assert found.average_step_ns > 400_000


@needs_traces
def test_the_case_of_serving() -> None:
    t = read(next((FOLDER.parent / "cases" / "serving-iterations").iterdir()))
    found = summary(t)
    assert (found.workload, found.iterations, found.iteration_ns) == ("serving", 30, 2_500_000)
    assert "30 decode iterations of 2.50 ms" in found.sentence
    assert overview(t).average_step_ns == 2_500_000
    (lost,) = (f for f in t.meta.findings if f.code == "activities_without_operator")
    assert "graph's replay" in (lost.hint or "")
