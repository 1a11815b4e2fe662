"""Compilation before loops without steps: it is named, and the loop behind it is judged."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.analysis.recording.summary import summary
from tests.support.make import Event, annotation, frame, kernel, launch, op, span, trace

_BEGIN = 5_000_000.0
"""When the loop begins, in us."""
_COMPILER = "_compile.compile_inner (dynamo_timed)"


def _loop(count: int = 12, begin: float = _BEGIN, marks: str = "") -> list[Event]:
    """Iterations of 100 us: four operators with a kernel each."""
    events = []
    for i in range(count):
        at = begin + 100 * i
        for k, name in enumerate(("aten::mm", "aten::relu", "aten::add", "aten::sum")):
            start, number = at + 20 * k, int(begin) + 10 * i + k + 1
            events += [op(name, start, start + 15, number), launch(start + 1, start + 2, number)]
            events.append(kernel(name[6:], start + 5, start + 12, number))
        if marks == "optimizer":
            events.append(annotation("Optimizer.step#SGD.step", at + 85, at + 95))
        elif marks:
            events.append(annotation(marks, at, at + 99))
    return events


def _compiles(begin: float, end: float) -> list[Event]:
    inner = annotation("compile_fx_inner (dynamo_timed)", begin + 100, end - 100)
    return [annotation(_COMPILER, begin, end), inner]


def _frames(begin: float, end: float) -> list[Event]:
    return [frame("torch/_dynamo/convert_frame.py(1): _compile", begin, end)]


def _calls(begin: float, end: float) -> list[Event]:
    return [span("cuda_driver", "nvrtcCompileProgram", begin, end, correlation=1)]


def _tuned(begin: float) -> list[Event]:
    """Trials of a kernel's variants, 40 launches that do not repeat."""
    at = [begin + 50 * i for i in range(40)]
    return [
        event
        for i, t in enumerate(at)
        for event in (launch(t, t + 2, 800 + i), kernel(f"try{i % 5}", t + 5, t + 40, 800 + i))
    ]


_LOOPS = ["", "optimizer", "train_iteration", "execute_context_0(0)_generation_4(4)"]


def _check(events: list[Event], count: int, compiled_ns: float) -> None:
    found = summary(trace(*events))
    assert found.kind == "partly_steady"
    assert "compilation" in found.sentence
    compiled = sum(p.end_ns - p.start_ns for p in found.phases if p.kind == "compilation")
    assert compiled == pytest.approx(compiled_ns, rel=0.01)
    assert found.steady_step_ns == pytest.approx(100_000, rel=0.03)  # the last one ends early
    assert 100_000 * (count - 1) <= found.judged_ns <= 100_000 * count


@pytest.mark.parametrize("marks", _LOOPS)
@pytest.mark.parametrize("compiler", [_compiles, _frames, _calls])
def test_once(compiler: Callable[[float, float], list[Event]], marks: str) -> None:
    _check([*compiler(0, _BEGIN), *_loop(marks=marks)], 12, 5e9)


@pytest.mark.parametrize("marks", _LOOPS)
def test_the_backward_pass_is_compiled_within_the_first_iteration(marks: str) -> None:
    """Two equal ranges that cover the recording are no iterations."""
    first = [*_compiles(0, _BEGIN / 2), *_loop(1, _BEGIN / 2, marks)]
    second = _compiles(_BEGIN / 2 + 100, _BEGIN)
    _check([*first, *second, *_loop(marks=marks)], 12, 5e9)


@pytest.mark.parametrize("marks", _LOOPS)
def test_tuning_between_two_compilations(marks: str) -> None:
    begin = _compiles(0, 2_000_000), _tuned(2_000_000), _compiles(2_003_000, _BEGIN)
    _check([*(event for part in begin for event in part), *_loop(marks=marks)], 12, 5e9)


@pytest.mark.parametrize("marks", _LOOPS)
def test_a_second_compilation_within_the_loop(marks: str) -> None:
    """What follows the last one is judged."""
    before, again = _loop(6, 0, marks), _compiles(600, _BEGIN)
    _check([*before, *again, *_loop(marks=marks)], 12, 5e9)
