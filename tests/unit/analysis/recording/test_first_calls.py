"""First calls of operators: long once, and short ever after."""

from __future__ import annotations

from tb_privateuse1.analysis.recording.first_calls import first_calls
from tests.support.program import Program


def program(first: float, name: str = "aten::mm", pause: float = 0) -> Program:
    """Operators on the host; the first takes ``first`` µs, and one later is paused."""
    run = Program()
    for i in range(8):
        run.op(name, first if i == 0 else 10)
        run.op("aten::add", 10 + pause * (i == 5))
    return run


def test_a_first_operator_initializes() -> None:
    found = first_calls(program(30_000).trace())
    assert found.ops.tolist() == [0]
    assert found.ops_usual_ns.tolist() == [10_000]


def test_a_host_with_pauses_as_long_is_just_busy() -> None:
    assert first_calls(program(8_000, pause=8_000).trace()).ops.tolist() == []


def test_a_first_copy_may_wait_for_the_device() -> None:
    assert first_calls(program(30_000, name="aten::copy_").trace()).ops.tolist() == []


def test_operators_of_two_sizes_have_no_first_call() -> None:
    run = program(30_000)
    run.op("aten::mm", 5_000)
    assert first_calls(run.trace()).ops.tolist() == []
