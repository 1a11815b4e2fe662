"""Steps that take longer than the others."""

from tb_privateuse1.advice.rules.uneven_steps import RULE
from tests.support import make
from tests.support.program import Program, found


def program(lengths: list[int]) -> Program:
    run = Program()
    for length in lengths:
        with run.step():
            run.op("aten::mm", length, kernel=20)
            run.wait()
    return run


def test_the_excess_of_the_slow_call_is_found() -> None:
    (row,) = found(RULE, program([1000, 1000, 2000, 1000, 1000]).trace())
    assert row.evidence[0].name == "ProfilerStep#3"
    assert row.saving_ns == 1_000_000
    assert "of the kind `cpu`" in row.explanation
    assert row.confidence == "medium"


def test_a_slow_first_step_may_be_warming_up() -> None:
    (row,) = found(RULE, program([3000, 1000, 1000, 1000]).trace())
    assert row.confidence == "low"
    assert "warm up" in row.explanation


def test_even_steps_are_fine() -> None:
    assert found(RULE, program([1000, 1100, 1200, 1000]).trace()) == []


def test_two_steps_have_no_usual() -> None:
    assert found(RULE, program([1000, 2000]).trace()) == []


def test_work_from_before_the_recording_is_no_slow_step() -> None:
    early = [make.kernel("gemm", 300 * i, 300 * i + 290) for i in range(10)]
    run = program([1000, 1000, 1000, 1000])
    for event in run.events:
        event["ts"] += 5
    late = [e for e in run.events if e["cat"] == "kernel"]
    late[0]["ts"] = 3010  # the stream runs what came before it first
    assert found(RULE, make.trace(*early, *run.events)) == []


def test_a_profiler_that_stops_is_no_slow_step() -> None:
    run = Program()
    for number in range(4):
        with run.step():
            run.op("aten::mm", 1000, kernel=20)
            if number == 3:
                run.wait("cudaDeviceSynchronize")
                run.rest(3000)
    assert found(RULE, run.trace()) == []
