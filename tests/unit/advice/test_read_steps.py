"""A block of equal steps stands for all of a long recording, or all steps are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tb_privateuse1.advice.engine import Advice, advise
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.rule import Rule, RuleFinding
from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.analysis.simulation import equal_steps
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.model import Trace
from tests.support import chinese
from tests.support.program import Program
from tests.unit.views.test_gains_agree import check

STEPS = 100
Extra = Callable[[Program, int], None]


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function behind which recordings of the size of these tests are long."""

    def now() -> None:
        monkeypatch.setattr(equal_steps, "LONG", 1_000)
        monkeypatch.setattr(equal_steps, "_ROWS", 400)  # rules ask of 50 activities

    return now


def nothing(run: Program, step: int) -> None:
    """Add nothing to a step."""


def program(extra: Extra = nothing, steps: int = STEPS) -> Trace:
    """Build steps that read a value and work in Python, each with something of its own."""
    run = Program()
    for step in range(steps):
        with run.step(), run.frame("train.py(7): step"):
            for _ in range(3):
                run.op("aten::mm", 10, kernel=40)
            with run.around("aten::item"), run.around("aten::_local_scalar_dense"):
                run.copy("DtoH", 2)
            run.op("aten::relu", 10, kernel=20)
            with run.frame("metrics.py(9): update"):
                run.rest(300)
            run.op("aten::relu", 10, kernel=20)
            extra(run, step)
    return run.trace()


def each(length: int, apart: int, name: str = "valid.py(3): validate") -> Extra:
    """Return work of the user's function in one of ``apart`` steps."""

    def validate(run: Program, step: int) -> None:
        if step % apart == apart // 2:
            with run.frame(name):
                for _ in range(length):
                    run.op("aten::conv2d", 10, kernel=60)
                    run.wait()

    return validate


def both(trace: Trace, cuts: Callable[[], None]) -> tuple[Advice, Advice]:
    """Return the advice that reads all steps, and that of now."""
    whole = advise(trace)
    cuts()
    return whole, advise(trace)


def agree(whole: Advice, few: Advice) -> None:
    """Check that the findings, what is judged and the savings are the same."""
    assert [row.rule for row in few.rows] == [row.rule for row in whole.rows]
    assert (few.judged_ns, few.steps) == (whole.judged_ns, whole.steps)
    assert few.judged_net_ns == pytest.approx(whole.judged_net_ns, rel=0.01)
    for row, own in zip(whole.rows, few.rows, strict=True):
        assert own.saving_share == pytest.approx(row.saving_share, abs=0.005), row.rule
        assert own.saving_ns == pytest.approx(row.saving_ns, rel=0.02), row.rule


def test_equal_steps_have_the_findings_of_all(cuts: Callable[[], None]) -> None:
    whole, few = both(program(), cuts)
    assert {"item_sync", "python_overhead"} <= {row.rule for row in whole.rows}
    assert not whole.read
    assert f"of {STEPS} steps" in few.read
    assert chinese.is_translated(few.read)
    agree(whole, few)


def test_examples_are_rows_of_the_whole_recording(cuts: Callable[[], None]) -> None:
    cuts()
    trace = program()
    shown = [one for row in advise(trace).rows for one in row.evidence]
    assert {one.table for one in shown} >= {"ops", "frames"}
    for one in shown:
        table = getattr(trace, one.table)
        assert trace.text(table.name[one.row]) == one.name
        assert table.start_ns[one.row] == one.start_ns


def test_the_what_if_gains_what_the_findings_save(cuts: Callable[[], None]) -> None:
    cuts()
    assert check(program()) >= 2


def test_the_step_that_leads_in_is_changed_as_well(cuts: Callable[[], None]) -> None:
    """Read and replayed steps differ by one, whose work the findings remove, too."""
    trace = program(each(2, 4))
    whole, few = both(trace, cuts)
    assert few.read
    agree(whole, few)


@pytest.mark.parametrize("name", ["valid.py(3): validate", "torch/serialization.py(8): save"])
def test_what_is_done_in_one_step_of_all_is_not_lost(cuts: Callable[[], None], name: str) -> None:
    whole, few = both(program(each(100, STEPS, name)), cuts)
    assert not few.read
    assert few == whole


def test_what_is_done_in_each_tenth_step_is_in_the_block(cuts: Callable[[], None]) -> None:
    whole, few = both(program(each(20, 10)), cuts)
    assert few.read
    agree(whole, few)


def test_time_in_python_of_one_step_is_not_lost(cuts: Callable[[], None]) -> None:
    """A step with the same operators that takes longer: no block has it in proportion."""

    def pause(run: Program, step: int) -> None:
        if step == STEPS // 2:
            with run.frame("torch/serialization.py(8): save"):
                run.rest(9_000)

    whole, few = both(program(pause), cuts)
    assert not few.read
    assert few == whole


def test_steps_that_become_slower_are_all_read(cuts: Callable[[], None]) -> None:
    """The middle ones take as long as all do on average, but vary less."""

    def slower(run: Program, step: int) -> None:
        with run.frame("cache.py(5): look_up"):
            run.rest(10 * step)

    whole, few = both(program(slower), cuts)
    assert not few.read
    assert few == whole


def test_steps_with_inputs_of_their_own_are_all_read(cuts: Callable[[], None]) -> None:
    def grow(run: Program, step: int) -> None:
        inputs: dict[str, Any] = {"Input Dims": [[step, 8]]}
        run.op("aten::cat", 10, kernel=20, **inputs)

    cuts()
    assert not advise(program(grow)).read


def test_the_longest_step_is_that_of_all(cuts: Callable[[], None]) -> None:
    """A step that takes a fifth longer is in no block, but all steps are no longer even."""

    def longer(run: Program, step: int) -> None:
        run.rest(110 if step == 10 else 0)

    whole, few = both(program(longer), cuts)
    assert few.read
    assert "steps" not in {row.name for row in (*whole.fine, *few.fine)}
    assert "steps" in {row.name for row in advise(program()).fine}


def test_a_short_recording_is_read_as_a_whole(cuts: Callable[[], None]) -> None:
    whole, few = both(program(steps=30), cuts)
    assert few == whole


def test_a_rule_of_the_user_reads_all_steps(cuts: Callable[[], None]) -> None:
    def count(case: RuleContext) -> Iterator[RuleFinding]:
        yield RuleFinding(say("Steps"), "", events=len(case.steps), evidence=(), how="")

    own = Rule("own", "Own", "recording", "", "", "", "", "", check=count)
    cuts()
    result = advise(program(), rules=(*RULES.values(), own))
    assert not result.read
    assert [row.events for row in result.rows if row.rule == "own"] == [STEPS]


def test_of_two_kinds_of_steps_both_are_read_in_proportion(cuts: Callable[[], None]) -> None:
    trace = program(each(3, 3), 99)
    cuts()
    block = equal_steps.equal_block(trace, judged_part(trace))
    assert block is not None
    assert (np.diff(block.chosen) == 1).all()
    assert (block.chosen % 3 == 1).mean() == pytest.approx(1 / 3, abs=0.02)


Lengths = tuple[int, int]


def of_functions(run: Program, lengths: Lengths) -> None:
    """Add two of the user's functions."""
    for name, length in zip(("text.py(3): tokens", "cache.py(5): look_up"), lengths, strict=True):
        with run.frame(name):
            run.rest(length)


def of_operators(run: Program, lengths: Lengths) -> None:
    """Add two operators."""
    for name, length in zip(("aten::conv2d", "aten::sort"), lengths, strict=True):
        run.op(name, length, kernel=10)


def of_kernels(run: Program, lengths: Lengths) -> None:
    """Add two kernels that are waited for."""
    for name, length in zip(("first_kernel", "second_kernel"), lengths, strict=True):
        run.op("aten::add", 10, kernel=length, device=name)
    run.wait()


@pytest.mark.parametrize("work", [of_functions, of_operators, of_kernels])
def test_two_phases_with_steps_as_long_are_not_one(
    cuts: Callable[[], None], work: Callable[[Program, Lengths], None]
) -> None:
    """What the second half has more of is not lost, though all steps are equally long."""

    def phases(run: Program, step: int) -> None:
        work(run, (900, 100) if step < 70 else (100, 900))

    trace = program(phases)
    whole, few = both(trace, cuts)
    agree(whole, few)
    block = equal_steps.equal_block(trace, judged_part(trace))
    assert block is None or (block.chosen < 70).mean() == pytest.approx(0.7, abs=0.01)


def test_slow_steps_are_in_the_block_in_proportion(cuts: Callable[[], None]) -> None:
    """Blocks with a slow step of ten, or with none, have the mean and the square of all."""

    def waits(run: Program, step: int) -> None:
        if 40 <= step < 60:
            run.rest(2_500 if step % 10 == 5 else 1_500)
        else:
            run.rest(1_900 if step % 2 else 1_300)

    cuts()
    trace = program(waits)
    judged = judged_part(trace)
    slow = judged.lengths_ns > 1.3 * np.median(judged.lengths_ns)
    assert slow.sum() == 2
    block = equal_steps.equal_block(trace, judged)
    assert block is None or slow[block.chosen].mean() == pytest.approx(0.02, abs=0.01)
