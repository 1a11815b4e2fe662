"""Recordings without a steady step."""

import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules.unsteady_recording import RULE
from tests.support import make
from tests.support.program import Program, device_bound, found
from tests.support.shared_traces import FOLDER, load, needs_traces


def startup() -> Program:
    run = Program()
    run.events.append(make.span("cuda_runtime", "cudaMalloc", 0, 5_000_000, correlation=900))
    run.now = 5_000_000
    for _ in range(3):
        run.op("aten::mm", 10, kernel=5)
        run.rest(300)
    return run


def test_a_recording_of_start_up_is_named() -> None:
    (row,) = found(RULE, startup().trace())
    assert row.saving_ns is None
    assert row.evidence[0].name == "cudaMalloc"
    assert "cudaMalloc took 5.00 s" in row.explanation


def test_no_other_rule_judges_it() -> None:
    advice = advise(startup().trace())
    assert {row.cause for row in advice.rows} == {"recording"}
    assert not any(row.saving_ns for row in advice.rows)
    waiting = [one for one in advice.asked if one.rule == "host_bound"]
    assert waiting[0].answer == "not_asked"


def test_steady_steps_are_fine() -> None:
    assert found(RULE, device_bound().trace()) == []


@needs_traces
@pytest.mark.parametrize("place", ["cuda/alexnet_startup", "rocm/sglang_decode_capture"])
def test_real_start_up_and_capture_get_no_other_advice(place: str) -> None:
    (path,) = (FOLDER / place).glob("*.pt.trace.json*")
    advice = advise(load(path))
    assert {row.rule for row in advice.rows} == {"unsteady_recording"}
    assert not any(row.saving_ns for row in advice.rows)
