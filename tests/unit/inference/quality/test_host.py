"""Ranges that cross, are told twice or lost their parent; not those that torch writes so."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.advice.engine import built_in_advice
from tb_privateuse1.analysis.recording.summary import summary
from tb_privateuse1.views.overview import overview
from tests.support.make import Event, annotation, frame, kernel, launch, op, trace
from tests.support.quality import found, sound, sure


def test_crossing_operators() -> None:
    t = trace(op("a", 0, 10.001, id=1), op("b", 5.001, 15, id=2), op("c", 20, 30, id=3))
    finding = sure(t, "crossing_ops")
    assert (finding.count, finding.severity) == (1, "warning")
    assert finding.examples[0].name == "b"
    inside = trace(op("a", 0, 10.001, id=1), op("b", 5.001, 10, id=2), op("c", 10.001, 30, id=3))
    assert found(inside, "crossing_ops") is None
    apart = trace(op("a", 0, 10, id=1), op("b", 5, 15, id=2, thread=2))
    assert found(apart, "crossing_ops") is None


@pytest.mark.parametrize(("unit", "crosses"), [(0.001, False), (0.002, False), (0.003, True)])
def test_rounding_is_no_crossing(unit: float, crosses: bool) -> None:
    """Start and length are rounded, so that a child may end 1 or 2 ns after its parent."""
    t = trace(op("a", 0, 10.001, id=1), op("b", 5.5, 10.001 + unit, id=2), op("c", 4, 4.123, id=3))
    assert (found(t, "crossing_ops") is not None) is crosses


def test_whole_microseconds_are_rounded_more() -> None:
    assert found(trace(op("a", 0, 10, id=1), op("b", 5, 12, id=2)), "crossing_ops") is None
    assert sure(trace(op("a", 0, 10, id=1), op("b", 5, 13, id=2)), "crossing_ops").count == 1


def test_an_annotation_crosses_the_frames_that_begin_and_end_it() -> None:
    """As torch records every ``with record_function``."""
    t = trace(
        frame("enter", 0, 5, **{"Python id": 1}), annotation("mine", 3, 20, id=1),
        frame("exit", 15, 25, **{"Python id": 2}),
    )  # fmt: skip
    assert found(t, "crossing_ops") is None
    assert found(t, "crossing_frames") is None
    crossing = trace(frame("f", 0, 10.001), frame("g", 5, 15))
    assert sure(crossing, "crossing_frames").examples[0].name == "g"


def test_an_event_told_twice() -> None:
    events = [*sound(), frame("f", 0, 50, **{"Python id": 4})]
    t = trace(*events, *events)
    counts = {f.code: f.count for f in t.meta.findings if f.code.startswith("duplicated")}
    assert counts == {
        "duplicated_ops": 2, "duplicated_frames": 1, "duplicated_launches": 2,
        "duplicated_kernels": 2,
    }  # fmt: skip
    assert sure(t, "duplicated_ops").severity == "error"
    assert found(t, "repeated_external_ids") is None, "that is the same, said twice"


def test_equal_times_alone_are_no_duplicate() -> None:
    same = [op("aten::to", 0, 5, id=1), op("aten::to", 0, 5, id=2), op("x", 9, 9), op("x", 9, 9)]
    t = trace(
        *same, kernel("k", 0, 0, 7), kernel("k", 0, 0, 7), kernel("j", 1, 2), kernel("j", 1, 2)
    )
    assert not [f for f in t.meta.findings if f.code.startswith("duplicated")]


def test_external_ids_that_two_operators_have() -> None:
    t = trace(
        op("a", 0, 5, id=1), op("b", 6, 9, id=1), op("c", 10, 11, id=0), op("d", 12, 13, id=0)
    )
    finding = sure(t, "repeated_external_ids")
    assert (finding.count, finding.examples[0].name) == (1, "b")


def test_frames_whose_caller_is_not_there() -> None:
    ids: list[dict[str, Any]] = [
        {"Python id": 1, "Python parent id": None},
        {"Python id": 2, "Python parent id": 1},
        {"Python id": 3, "Python parent id": 99},
    ]
    t = trace(*(frame(f"f{i}", 10 * i, 10 * i + 5, **told) for i, told in enumerate(ids)))
    finding = sure(t, "frames_without_parent")
    assert (finding.count, [e.name for e in finding.examples]) == (1, ["f2"])


def of_process(pid: int, correlation: int) -> list[Event]:
    """Return the events of a process with an operator and its kernel."""
    at = 10 * correlation
    events = [
        op("aten::mm", at, at + 5), launch(at + 1, at + 2, correlation),
        kernel("mm", at + 3, at + 6, correlation),
    ]  # fmt: skip
    return [one if one["cat"] == "kernel" else one | {"pid": pid} for one in events]


def test_operators_of_two_processes_are_joined_recordings() -> None:
    """Nothing says whose the kernels are, so nothing is judged."""
    joined = trace(*of_process(11, 1), *of_process(12, 2))
    assert "(11, 12)" in sure(joined, "joined_recordings").message
    shown = overview(joined)
    assert (shown.verdict, shown.account) == (None, None)
    assert built_in_advice(joined).rows == ()
    one = trace(*of_process(11, 1), *of_process(11, 2))
    assert found(one, "joined_recordings") is None
    assert overview(one).verdict is not None


def test_correlations_that_occur_twice_are_joined_recordings_without_operators() -> None:
    one = [launch(100 * i, 100 * i + 6, i + 1) for i in range(6)]
    one += [kernel("gemm", 100 * i + 10, 100 * i + 60, i + 1) for i in range(6)]
    other = [event | {"ts": event["ts"] + 70} for event in one]
    assert "occur twice" in sure(trace(*one, *other), "joined_recordings").message
    inner = [event | {"cat": "cuda_driver", "name": "cuLaunchKernel"} for event in one[:6]]
    assert found(trace(*one, *inner), "joined_recordings") is None
    assert found(trace(*one, other[0]), "joined_recordings") is None


def test_ids_that_occur_twice_are_joined_recordings_of_two_hosts() -> None:
    """Their processes may have the same number. A file with all events twice is another case."""
    one = [op("aten::mm", 100 * i, 100 * i + 60, id=i + 1) for i in range(6)]
    other = [event | {"ts": event["ts"] + 70} for event in one]
    t = trace(*one, *other)
    assert "occur twice" in sure(t, "joined_recordings").message
    shown = summary(t)
    assert (shown.kind, shown.judged_ns, shown.steady_step_ns) == ("joined", 0, None)
    assert "joined in one file" in shown.sentence
    assert found(trace(*one, *one), "joined_recordings") is None
    assert found(trace(*one, other[0]), "joined_recordings") is None
