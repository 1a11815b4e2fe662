"""Steps that take longer than the others."""

import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.garbage_collection import RULE as COLLECTION
from tb_privateuse1.advice.rules.host_bound import RULE as HOST_BOUND
from tb_privateuse1.advice.rules.uneven_steps import RULE
from tests.support import make
from tests.support.program import Program, found


def program(lengths: list[int]) -> Program:
    """Build steps of one product each, after which the host rests up to these lengths."""
    run = Program()
    for length in lengths:
        with run.step():
            run.op("aten::mm", 500, kernel=20)
            run.wait()
            run.rest(length - 500)
    return run


def updates(every: int, steps: int) -> Program:
    """Build steps, some with an optimizer's operators as well."""
    run = Program()
    for number in range(steps):
        with run.step():
            for _ in range(30 if number % every == every - 1 else 10):
                run.op("aten::mm", 100, kernel=20)
            run.wait()
    return run


def test_a_wait_that_comes_back_is_found() -> None:
    """Every third step rests another millisecond."""
    (row,) = found(RULE, program([1000, 1000, 2000] * 4).trace())
    assert row.saving_ns is not None
    assert abs(row.saving_ns - 4_000_000) < 100_000
    assert row.title.startswith("4 steps of 12 wait longer than the others")
    assert "They come every 3 steps." in row.explanation
    assert row.evidence[0].name.startswith("ProfilerStep#")


@pytest.mark.parametrize(
    "lengths",
    [
        [1000, 1000, 3000, 1000, 1000],
        [1000, 3000, 1000, 1000, 3000, 1000, 1000, 1000],
        [1000, 1000, 1400, 1000, 5000, 1000, 1000, 20000, 1000],
    ],
    ids=["one", "two", "not alike"],
)
def test_steps_that_were_held_up_once_are_a_note(lengths: list[int]) -> None:
    (row,) = found(RULE, program(lengths).trace())
    assert (row.saving_ns, row.severity) == (None, "note")
    assert "of the class “Python outside operators”" in row.explanation


def test_a_slow_first_step_may_be_warming_up() -> None:
    (row,) = found(RULE, program([3000, 1000, 1000, 1000]).trace())
    assert row.saving_ns is None
    assert "warm up" in row.explanation


def test_no_symptom_has_the_time_of_a_single_step() -> None:
    """A launch-bound program with one step that was held up for ten times its length."""
    run = Program()
    for number in range(6):
        with run.step():
            for _ in range(60):
                run.op("aten::mm", 20, kernel=10)
            run.rest(12_000 if number == 3 else 0)
            run.op("aten::mm", 20, kernel=10)
            run.wait()
    advice = advise(run.trace(), rules=(RULE, HOST_BOUND))
    saving = {row.rule: row.saving_per_step_ns for row in advice.rows}
    assert saving["uneven_steps"] is None
    assert 500_000 < (saving["host_bound"] or 0) < 800_000


def test_a_wait_of_each_step_may_vary() -> None:
    """Nothing is held back of what takes up to twice as long in one step."""
    assert found(RULE, program([1000, 1000, 1500, 1000, 1000]).trace()) == []


def test_a_cause_explains_a_long_step() -> None:
    """A collection of garbage in one step is a finding of its own, and no outlier besides."""
    run = program([1000, 1000, 1000])
    with run.step():
        with run.range("Python GC"):
            run.rest(1000)
        run.op("aten::mm", 500, kernel=20)
        run.wait()
        run.rest(500)
    advice = advise(run.trace(), rules=(RULE, COLLECTION))
    assert [row.rule for row in advice.rows] == ["garbage_collection"]


def test_more_work_every_few_steps_is_the_programs() -> None:
    assert found(RULE, updates(4, 16).trace()) == []


def test_more_work_in_one_step_is_a_note() -> None:
    (row,) = found(RULE, updates(6, 6).trace())
    assert row.saving_ns is None
    assert "run more operators" in row.explanation


def test_even_steps_are_fine() -> None:
    assert found(RULE, program([1000, 1100, 1200, 1000]).trace()) == []


def test_slow_steps_that_save_less_than_the_noise_need_no_account() -> None:
    """Three of 333 steps are 0.4 ms longer: the account of all is not worth its time."""
    case = RuleContext(program([1000] * 330 + [1400, 1400, 1400]).trace())
    assert not list(RULE.check(case))
    assert "class_intervals" not in vars(case)


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
