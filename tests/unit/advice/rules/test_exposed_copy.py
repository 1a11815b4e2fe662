"""Copies during which the device computes nothing."""

from tb_privateuse1.advice.rules.exposed_copy import RULE
from tests.support import make
from tests.support.program import Program, found


def program(beside: bool) -> Program:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=400)
            if beside:
                run.launched += 1
                run.events.append(make.launch(run.now, run.now + 1, run.launched))
                begin = run.device - 300
                copy = "Memcpy HtoD (Pinned -> Device)"
                run.events.append(
                    make.kernel(copy, begin, begin + 200, run.launched, 9, category="gpu_memcpy")
                )
            else:
                run.copy("HtoD", 200)
            run.wait()
    return run


def test_a_copy_alone_is_found() -> None:
    (row,) = found(RULE, program(beside=False).trace())
    assert row.events == 4
    assert row.saving_ns is not None
    assert 4 * 180_000 < row.saving_ns <= 4 * 200_000


def test_a_copy_beside_a_kernel_is_fine() -> None:
    assert found(RULE, program(beside=True).trace()) == []


def test_the_copy_of_a_read_is_the_reads() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=400)
            with run.around("aten::item"), run.around("aten::_local_scalar_dense"):
                run.copy("DtoH", 200)
    assert found(RULE, run.trace()) == []


def test_results_may_be_needed_before_anything_else_runs() -> None:
    """Whether the host needs them at once, or the device copies beside work, is not recorded."""
    runs = {}
    for direction in ("HtoD", "DtoH"):
        run = Program()
        for _ in range(4):
            with run.step():
                run.op("aten::mm", 10, kernel=400)
                run.copy(direction, 200)
                run.wait()
        (runs[direction],) = found(RULE, run.trace())
    given, results = runs["HtoD"], runs["DtoH"]
    assert given.saving_ns == results.saving_ns
    assert given.saving_low_ns is not None
    assert given.saving_low_ns > 0
    assert results.saving_low_ns == 0
    assert (given.confidence, results.confidence) == ("high", "medium")
    assert given.fix != results.fix
