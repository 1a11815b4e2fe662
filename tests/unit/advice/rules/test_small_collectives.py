"""Many collectives that are too small."""

from typing import Any

from tb_privateuse1.advice.rules.small_collectives import RULE
from tests.support import make
from tests.support.program import Program, found
from tests.unit.advice.rules.test_waiting_ranks import ARGS


def program(count: int, elements: int) -> Program:
    run = Program()
    args: dict[str, Any] = {**ARGS, "In msg nelems": elements, "Out msg nelems": elements}
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=1000)
            for _ in range(count):
                run.launched += 1
                run.events.append(make.launch(run.now, run.now + 1, run.launched))
                begin = run.device
                name = "ncclDevKernel_AllReduce"
                run.events.append(make.kernel(name, begin, begin + 20, run.launched, **args))
                run.device = begin + 20
            run.wait()
    return run


def test_many_small_ones_are_found() -> None:
    (row,) = found(RULE, program(40, 1000).trace())
    assert row.events == 120
    assert row.title.startswith("40 small collectives a step")
    assert row.saving_ns is not None
    assert row.saving_ns > 3 * 700_000


def test_large_ones_are_fine() -> None:
    assert found(RULE, program(40, 1 << 20).trace()) == []


def test_a_few_are_fine() -> None:
    assert found(RULE, program(5, 1000).trace()) == []
