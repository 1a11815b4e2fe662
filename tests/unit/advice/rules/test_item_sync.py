"""Values that are read from the device."""

import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules import blocked_call
from tb_privateuse1.advice.rules.item_sync import RULE
from tests.support.program import Program, found


def program(reads: bool, after_us: float = 300, kernel_us: float = 100) -> Program:
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("train.py(7): step"):
            for _ in range(10):
                run.op("aten::mm", 10, kernel=kernel_us)
            if reads:
                with run.around("aten::item"), run.around("aten::_local_scalar_dense"):
                    run.copy("DtoH", 2)
            run.rest(after_us)
    return run


def test_it_is_found_with_line_and_cost() -> None:
    (row,) = found(RULE, program(True).trace())
    assert (row.events, str(row.where)) == (4, "step (train.py:7)")
    assert row.saving_ns == pytest.approx(4 * 313_000, rel=0.01), "the host ends earlier, too"
    assert {example.name for example in row.evidence} == {"aten::item"}


def test_without_a_read_there_is_nothing() -> None:
    assert found(RULE, program(False).trace()) == []


def test_a_read_without_cost_is_not_reported() -> None:
    """The device is done, and the next launch follows at once."""
    assert found(RULE, program(True, after_us=0, kernel_us=300).trace()) == []


def test_item_of_a_host_tensor_waits_for_nothing() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=100)
            with run.around("aten::item"):
                run.op("aten::_local_scalar_dense", 2)
            run.rest(500)
    assert found(RULE, run.trace()) == []


def read_late(*delays_us: int) -> Program:
    """Return steps that read a number behind each operator; and by when each read is late."""
    run = Program()
    for _ in range(4):
        with run.step():
            for delay in delays_us:
                run.op("aten::mm", 10, kernel=300)
                with run.around("aten::item"), run.around("aten::_local_scalar_dense"):
                    run.copy("DtoH", 2)
                    run.rest(delay)
                    run.events[-1]["dur"] += delay
                run.rest(200)
            run.op("aten::mm", 10, kernel=300)
    return run


def saved(program: Program) -> tuple[int, int]:
    """Return what the reads save, and the upper end."""
    advice = advise(program.trace(), rules=(RULE, blocked_call.RULE))
    ranges = [(row.saving_ns or 0, row.saving_high_ns or 0) for row in advice.rows]
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)


def test_a_thread_that_was_held_up_behind_most_reads_is_no_fault_of_them() -> None:
    """The numbers had long been there: the quick reads tell what a wait costs."""
    quick, high = saved(read_late(5, 5, 5, 5, 5))
    assert 0 < quick < high
    held, of_all = saved(read_late(5, 1500, 5, 1000, 1200))
    assert 0.3 * quick < held < quick
    assert held < of_all < 2 * quick


def test_reads_that_all_return_late_are_found() -> None:
    """As slow calls of a driver: what is usual is no thread that was held up."""
    assert saved(read_late(2000, 2000, 2000, 2000, 2000))[0] > 4 * 5 * 1_900_000


def test_a_profilers_own_time_does_not_end_what_a_wait_costs() -> None:
    """The device idles on both sides of it; the profiler's time is no part of a wait."""
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("train.py(7): step"):
            for _ in range(10):
                run.op("aten::mm", 10, kernel=100)
            with run.around("aten::item"), run.around("aten::_local_scalar_dense"):
                run.copy("DtoH", 2)
            run.rest(5)
            with run.frame("torch/autograd/profiler.py(770): __enter__"):
                run.rest(50)
            run.rest(250)
    (row,) = found(RULE, run.trace())
    assert row.saving_ns is not None
    assert row.saving_ns > 4 * 250_000
