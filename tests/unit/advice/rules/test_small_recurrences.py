"""A loop of small kernels whose rounds need each other, on a device."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules.elementwise_chain import RULE as CHAIN
from tb_privateuse1.advice.rules.host_bound import RULE as HOST_BOUND
from tb_privateuse1.advice.rules.recurrent_loop import RULE
from tests.support.autograd import HostTraining, TrainingProgram
from tests.support.program import found
from tests.support.sized import FP32, SizedProgram, full, recorded

TIMES = 24


def reads(run: SizedProgram, time: int, rounds: int, wide: int) -> None:
    """Take the rewards of a time."""
    given = recorded(full(rounds, wide, dtype=FP32), "0", str(time))
    run.op("aten::select", 3, **given)


def advantages(
    wide: int = 16,
    *,
    rounds: int = TIMES,
    product: bool = False,
    module: bool = False,
    copied: str = "",
    ahead: int = 0,
    carries: bool = True,
) -> SizedProgram:
    """Run steps that go through time, each round on the sum so far, behind some products."""
    run = SizedProgram()
    item = full(wide, dtype=FP32)
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=ahead or 30)
            for time in range(rounds):
                reads(run, time, rounds, wide)
                run.run("aten::mul", item, "0.99", host=12)
                if module:
                    with run.frame("nn.Module: Cell_0"):
                        run.run("aten::mul", item, "0.95", host=12)
                if product:
                    run.product(wide, wide, wide)
                if carries:
                    run.run("aten::add", item, item, "1", host=12)
                if copied:
                    run.copy(copied, 3)
            run.op("aten::mm", 10, kernel=30)
            run.wait()
    return run


def test_small_rounds_that_need_each_other_may_run_on_the_host() -> None:
    (row,) = found(RULE, advantages().trace())
    assert row.saving_share is not None
    assert 0.5 < row.saving_share < 0.95
    assert (row.confidence, row.events) == ("medium", 4 * TIMES)
    assert row.saving_low_share is not None
    assert 0.2 < row.saving_low_share < row.saving_share


def test_their_time_is_said_once() -> None:
    """Chains in the loop and the late launches are the loop's."""
    rows = advise(advantages().trace(), rules=(CHAIN, RULE, HOST_BOUND)).rows
    assert rows[0].rule == "recurrent_loop"
    assert "elementwise_chain" not in {row.rule for row in rows}
    # What is left of it: launches of rounds that copies take as long as.
    assert sum(row.behind_share or 0 for row in rows[1:]) < 0.15


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(advantages(rounds=6), id="few rounds"),
        pytest.param(advantages(product=True), id="a product"),
        pytest.param(advantages(module=True), id="a module of a model"),
        pytest.param(advantages(copied="DtoH"), id="the host decides"),
        pytest.param(advantages(copied="HtoD"), id="the host gives the items"),
        pytest.param(advantages(wide=1 << 20), id="large kernels"),
        pytest.param(advantages(ahead=5000), id="the host is far ahead"),
        pytest.param(advantages(carries=False), id="no round needs another"),
    ],
)
def test_what_is_no_loop_of_small_kernels(run: SizedProgram) -> None:
    titles = [row.title for row in found(RULE, run.trace())]
    assert [title for title in titles if "small kernels" in title] == []


def test_without_shapes_nothing_is_known_of_a_round() -> None:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for _ in range(TIMES):
                run.op("aten::select", 3)
                run.op("aten::mul", 12, kernel=2)
                run.op("aten::add", 12, kernel=2)
            run.wait()
    assert found(RULE, run.trace()) == []


def test_with_gradients_the_saving_may_be_nothing() -> None:
    """Torch's operators on the host are slower with their gradients, and a fix is more work."""
    run = TrainingProgram()
    item = full(16, dtype=FP32)
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=30)
            first = run.sequence
            for time in range(TIMES):
                reads(run, time, TIMES, 16)
                for _ in range(2):
                    run.sequence += 1
                    given = recorded(item, item, "1") | {"Sequence number": run.sequence}
                    run.op("aten::add", 30, kernel=2, device="add", **given)
            for number in range(run.sequence, first, -1):
                node: dict[str, Any] = {"Sequence number": number, "Fwd thread id": 1}
                with run.around("autograd::engine::evaluate_function: AddBackward0", **node):
                    run.op("aten::mul", 30, kernel=2, **recorded(item, "1"), **node)
            run.op("aten::mm", 10, kernel=30)
            run.wait()
    (row,) = found(RULE, run.trace())
    assert (row.confidence, row.saving_low_share) == ("low", 0.0)


def test_on_a_host_alone_nothing_is_launched() -> None:
    run = HostTraining()
    item = full(16, dtype=FP32)
    for _ in range(4):
        with run.step():
            for time in range(TIMES):
                reads(run, time, TIMES, 16)
                run.op("aten::mul", 12, **recorded(item, "0.99"))
                run.op("aten::add", 12, **recorded(item, item, "1"))
    assert found(RULE, run.trace()) == []


STATE = full(64, dtype=FP32)


def integrated(
    *, rounds: int = TIMES, reads_own: bool = True, marked: bool = True, parts: bool = False
) -> SizedProgram:
    """Run steps with rounds of equal operators that take no item, behind a product."""
    run = SizedProgram()
    written = full(16, dtype=FP32)
    for _ in range(4):
        with run.step() if marked else nullcontext():
            run.op("aten::mm", 10, kernel=30)
            for _ in range(rounds):
                run.run("aten::sin", STATE, host=12)
                if reads_own:
                    run.run("aten::add", STATE, STATE, "0.02", host=12)
                else:
                    run.run("aten::sum", full(16, 4, dtype=FP32), "[1]", "False", "", host=12)
                    run.run("aten::add", written, written, "1", host=12)
                if parts:
                    run.op("aten::_local_scalar_dense", 5, kernel=2, **recorded(STATE))
            run.op("aten::mm", 10, kernel=30)
            run.wait()
    return run


def test_equal_rounds_that_may_need_each_other_are_said_with_a_doubt() -> None:
    """Which tensors they read is not recorded: some may have their own."""
    (row,) = found(RULE, integrated().trace())
    assert (row.confidence, row.saving_low_share) == ("low", 0.0)
    assert row.saving_share is not None
    assert row.saving_share > 0.3
    assert "not recorded" in row.explanation


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(integrated(rounds=6), id="few rounds"),
        pytest.param(integrated(parts=True), id="the host decides"),
        pytest.param(integrated(marked=False), id="steps that are not marked"),
    ],
)
def test_equal_rounds_that_are_no_loop(run: SizedProgram) -> None:
    assert found(RULE, run.trace()) == []


def test_rounds_that_write_no_size_that_they_read_need_no_other() -> None:
    """Sums of parts, one after the other: nothing goes from round to round."""
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=30)
            for _ in range(TIMES):
                run.run("aten::exp", STATE, host=12)
                run.run("aten::sum", STATE, "[0]", "False", "", host=12)
            run.op("aten::mm", 10, kernel=30)
            run.wait()
    assert found(RULE, run.trace()) == []
