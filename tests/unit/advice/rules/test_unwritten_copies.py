"""Copies, where nobody writes either tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tb_privateuse1.advice.rules import layout_conversion
from tb_privateuse1.advice.rules.unwritten_copies import RULE
from tb_privateuse1.analysis.idioms.outermost_calls import Call, outermost_calls
from tb_privateuse1.analysis.idioms.unwritten_copies import unwritten_copies
from tests.support.program import found
from tests.support.sized import FP32, SizedProgram, full, recorded

X = full(512, 512, dtype=FP32)
ROWS: dict[str, Any] = {"Input Strides": [[4, 1], []]}
DENSE = {"Input Strides": [[512, 1], []]}
Work = Callable[[SizedProgram], None]


class Counted(list[Call]):
    """Calls, with how often somebody goes through all of them."""

    rounds = 0

    def __iter__(self) -> Iterator[Call]:
        self.rounds += 1
        return super().__iter__()


def program(
    copies: bool = True,
    then: Work | None = None,
    *,
    strides: Any = DENSE,
    kind: str = "clone_kernel",
    category: str = "gpu_memcpy",
) -> SizedProgram:
    """Four steps of layers, with a copy of each result on the device."""
    run = SizedProgram()
    for _ in range(4):
        with run.step(), run.frame("net.py(9): forward"):
            for _ in range(6):
                run.op("aten::gelu", 5, kernel=200, **recorded(X))
                if copies:
                    start, run.now = run.now, run.now + 2
                    run.launch(kind, 100, category=category)
                    run.now += 2
                    run.events.append(_clone(start, run.now, strides))
            if then is not None:
                then(run)
            run.wait()
    return run


def _clone(start: float, end: float, strides: Any) -> Any:
    given = recorded(X, "")
    return {
        "ph": "X", "cat": "cpu_op", "name": "aten::clone", "pid": 1, "tid": 1, "ts": start,
        "dur": end - start, "args": {"External id": -1, **given, **strides},
    }  # fmt: skip


def test_copies_that_nobody_writes_are_found_with_their_gain() -> None:
    before, after = program(), program(copies=False)
    (row,) = found(RULE, before.trace())
    assert str(row.where) == "forward (net.py:9)"
    assert row.saving_share == pytest.approx(1 - after.now / before.now, rel=0.1)
    assert found(RULE, after.trace()) == []


def test_they_are_no_layout_conversions() -> None:
    run = program(kind="copy_kernel", category="kernel")
    assert found(RULE, run.trace())
    assert found(layout_conversion.RULE, run.trace()) == []


@pytest.mark.parametrize("written", [X, full(512, 16, dtype=FP32)])
def test_what_may_be_written_is_copied_rightly(written: Any) -> None:
    def relu(run: SizedProgram) -> None:
        run.op("aten::relu_", 5, kernel=20, **recorded(written))

    assert found(RULE, program(then=relu).trace()) == []


def test_writes_to_another_type_or_to_larger_tensors_change_nothing() -> None:
    def count(run: SizedProgram) -> None:
        run.op("aten::add_", 5, kernel=20, **recorded(full(1, dtype="long int"), "1"))
        run.op("aten::add_", 5, kernel=20, **recorded(full(4096, 512, dtype=FP32), "1"))

    assert found(RULE, program(then=count).trace())


def test_an_operator_of_the_program_may_write_what_it_gets() -> None:
    def own(run: SizedProgram) -> None:
        run.op("mine::norm", 5, kernel=20, **recorded(X))

    assert found(RULE, program(then=own).trace()) == []


@pytest.mark.parametrize("strides", [{}, {"Input Strides": [[0, 1], []]}])
def test_copies_that_may_change_the_layout_are_left(strides: Any) -> None:
    """Of an expanded tensor, or of one whose strides are not recorded."""
    assert found(RULE, program(strides=strides).trace()) == []


def test_an_input_that_another_thread_may_fill_is_copied_rightly() -> None:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            start, run.now = run.now, run.now + 2
            run.launch("Memcpy DtoD", 100, category="gpu_memcpy")
            run.events.append(_clone(start, run.now, DENSE))
            for _ in range(6):
                run.op("aten::mm", 5, kernel=200, **recorded(X, full(512, 64, dtype=FP32)))
            run.wait()
    assert found(RULE, run.trace()) == []


def test_the_calls_are_gone_through_once_whatever_the_number_of_clones() -> None:
    """Each distinct clone has a size of its own; half of them copy the result of another step."""
    run = SizedProgram()
    for one in range(40):
        x = full(8 + one, 4, dtype=FP32)
        with run.step():
            run.op("aten::gelu", 5, kernel=20, **recorded(x))
            if one % 2 == 0:
                run.op("aten::clone", 5, kernel=20, **recorded(x, ""), **ROWS)
            run.wait()
        if one % 2:
            with run.step():
                run.op("aten::clone", 5, kernel=20, **recorded(x, ""), **ROWS)
    trace = run.trace()
    calls = outermost_calls(trace)
    looked = calls.calls = Counted(calls.calls)
    assert len(unwritten_copies(trace)) == 20
    assert looked.rounds <= 2
