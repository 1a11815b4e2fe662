"""Collectives that are sometimes slow."""

from typing import Any

from tb_privateuse1.advice.rules.waiting_ranks import RULE
from tests.support import make
from tests.support.program import Program, found

ARGS: dict[str, Any] = {
    "Collective name": "allreduce", "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20,
    "dtype": "Float", "Group size": 8, "Process Group Name": "0",
}  # fmt: skip


def program(lengths: list[int], *, other: bool = False) -> Program:
    run = Program()
    for number, length in enumerate(lengths):
        with run.step():
            run.op("aten::mm", 10, kernel=400)
            run.launched += 1
            run.events.append(make.launch(run.now, run.now + 1, run.launched))
            elements = (1 << 10 + number) if other else 1 << 20
            args = {**ARGS, "In msg nelems": elements, "Out msg nelems": elements}
            begin = run.device
            talk = make.kernel(
                "ncclDevKernel_AllReduce", begin, begin + length, run.launched, **args
            )
            run.events.append(talk)
            run.device = begin + length
            run.wait()
    return run


def test_the_excess_over_the_fastest_is_waiting() -> None:
    (row,) = found(RULE, program([100, 100, 600, 100]).trace())
    assert row.events == 1
    assert row.saving_ns is not None
    assert 400_000 < row.saving_ns <= 500_000


def test_even_collectives_do_not_wait() -> None:
    assert found(RULE, program([100, 101, 102, 100]).trace()) == []


def test_other_sizes_take_another_time() -> None:
    assert found(RULE, program([100, 200, 400, 800], other=True).trace()) == []
