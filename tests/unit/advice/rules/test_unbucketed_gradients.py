"""Collectives of unknown size in long runs, and others."""

from __future__ import annotations

from tb_privateuse1.advice.rules.unbucketed_gradients import RULE
from tests.support.program import Program, found


def program(count: int, between: float = 0, length: float = 20) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=1000)
            for i in range(count):
                run.op("c10d::allreduce_", 3)
                run.launch("ncclDevKernel_AllReduce", length + i % 5)
                if between:
                    run.op("aten::mm", 3, kernel=between)
            run.wait()
    return run


def test_gradients_one_by_one_are_found() -> None:
    (row,) = found(RULE, program(100).trace())
    assert row.title.startswith("Gradients are sent one by one, 100 collectives a step")
    assert row.events == 300
    # Nine tenths of 20 us for each of 100.
    assert row.saving_per_step_ns is not None
    assert 0.8 * 1_800_000 < row.saving_per_step_ns < 1.1 * 1_800_000


def test_a_little_work_between_them_changes_nothing() -> None:
    assert len(found(RULE, program(100, between=5).trace())) == 1


def test_products_between_them_need_each_result() -> None:
    assert found(RULE, program(100, between=30).trace()) == []


def test_buckets_are_few() -> None:
    assert found(RULE, program(8, length=800).trace()) == []
