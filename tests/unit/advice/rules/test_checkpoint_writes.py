"""Checkpoints that the program stops for."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.advice.rules.checkpoint_writes import RULE
from tests.support.program import Program, found

WRITE = "<built-in method write_record of Writer object at 0x1>"


def save(run: Program, inner: str, kernel: float) -> None:
    with run.frame("torch/serialization.py(944): save"):
        for _ in range(4):
            with run.around("aten::to"):
                run.copy("DtoH", 30)
            with run.frame(inner):
                run.rest(50)
            if kernel:
                run.op("aten::norm", 10, kernel=kernel)


def program(inner: str = WRITE, kernel: float = 0) -> Program:
    run = Program()
    for number in range(4):
        with run.step(), run.frame("train.py(5): train"):
            for _ in range(5):
                run.op("aten::mm", 10, kernel=100)
            if number % 2:
                with run.frame("train.py(20): keep"):
                    run.rest(1)
                    save(run, inner, kernel)
    return run


def test_a_checkpoint_is_found_with_the_users_line() -> None:
    (row,) = found(RULE, program().trace())
    assert row.events == 2
    assert str(row.where) == "keep (train.py:20)"
    assert "keep" in row.title
    assert row.saving_ns is not None
    # Four writes, and the three copies behind the first write: the device has nothing else.
    assert row.saving_ns == pytest.approx(2 * (4 * 50 + 4 * 30) * 1000, rel=0.15)


def test_a_call_that_reads_tensors_and_writes_nothing_is_no_checkpoint() -> None:
    assert (
        found(RULE, program(inner="<built-in method append of list object at 0x1>").trace()) == []
    )


def test_a_call_that_computes_on_the_device_is_no_checkpoint() -> None:
    assert found(RULE, program(kernel=20).trace()) == []


def progress(number_of_bytes: int | None) -> Program:
    """Losses that are read and written to a line of progress, in each step."""
    args: dict[str, Any] = {} if number_of_bytes is None else {"bytes": number_of_bytes}
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("train.py(5): train"):
            for _ in range(5):
                run.op("aten::mm", 10, kernel=100)
            with run.frame("train.py(20): postfix"):
                for _ in range(3):
                    with run.around("aten::to" if args else "aten::_local_scalar_dense"):
                        run.copy("DtoH", 30, **args)
                with run.frame("<built-in method write of _io.StringIO object at 0x1>"):
                    run.rest(200)
    return run


@pytest.mark.parametrize("number_of_bytes", [None, 4, 16])
def test_single_values_that_are_written_are_no_state(number_of_bytes: int | None) -> None:
    assert found(RULE, progress(number_of_bytes).trace()) == []


def test_a_copy_of_more_than_one_value_may_be_state() -> None:
    (row,) = found(RULE, progress(4096).trace())
    assert "postfix" in row.title
