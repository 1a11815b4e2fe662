"""Garbage collection while the device waits."""

from tb_privateuse1.advice.rules.garbage_collection import RULE
from tests.support.program import Program, found


def program(name: str, kernel_us: float = 50) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=kernel_us)
            with run.frame(name):
                run.rest(300)
    return run


def test_frames_and_ranges_are_found() -> None:
    (row,) = found(RULE, program("<built-in function collect>").trace())
    assert (row.events, row.evidence[0].table) == (3, "frames")
    assert row.saving_ns is not None
    assert row.saving_ns > 3 * 240_000
    run = program("f")
    with run.step():
        run.op("aten::mm", 10, kernel=50)
        with run.range("Python GC"):
            run.rest(300)
    (row,) = found(RULE, run.trace())
    assert (row.events, row.evidence[0].table) == (1, "ops")


def test_a_range_inside_of_its_frame_is_one_collection() -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=50)
            with run.frame("<built-in function collect>"), run.range("Python GC"):
                run.rest(300)
    (row,) = found(RULE, run.trace())
    assert row.events == 3


def test_other_frames_are_fine() -> None:
    assert found(RULE, program("data.py(3): collect_batch").trace()) == []


def test_one_that_the_device_hides_is_fine() -> None:
    assert found(RULE, program("<built-in function collect>", kernel_us=5000).trace()) == []
