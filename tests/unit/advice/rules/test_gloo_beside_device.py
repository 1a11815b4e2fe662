"""gloo in a program with a device."""

from tb_privateuse1.advice.rules.gloo_beside_device import RULE
from tests.support.program import Program, found


def program(name: str, kernel_us: float) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=kernel_us)
            with run.range(name):
                run.rest(300)
    return run


def test_it_is_found() -> None:
    (row,) = found(RULE, program("gloo:all_reduce", 50).trace())
    assert row.events == 3
    assert row.saving_ns is not None
    assert row.saving_ns > 3 * 240_000


def test_another_backend_is_fine() -> None:
    assert found(RULE, program("nccl:all_reduce", 50).trace()) == []


def test_on_a_host_alone_gloo_is_right() -> None:
    assert found(RULE, program("gloo:all_reduce", 0).trace()) == []
