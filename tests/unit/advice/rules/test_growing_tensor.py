"""A cache that grows by concatenation, and one of its final size."""

from tb_privateuse1.advice.rules.growing_tensor import RULE
from tests.support.program import found
from tests.support.sized import BF16, SizedProgram, full, recorded

NEW = (4096, 1, 2048)


def program(*, static: bool = False, times: int = 8, steps: int = 4) -> SizedProgram:
    run = SizedProgram()
    for _ in range(steps):
        with run.step():
            for i in range(1, times + 1):
                old = (4096, i, 2048)
                if static:
                    run.run("aten::copy_", full(*NEW), full(*NEW), "False")
                else:
                    # torch records no types in lists, so the time is given: once in and out.
                    told = recorded([(old, BF16), (NEW, BF16)], "1")
                    run.op("aten::cat", 3, kernel=4096 * (i + 1) * 2048 * 4 / 1e6, **told)
                run.run("aten::relu", full(4096, i + 1, 2048))
            run.wait()
    return run


def test_copies_of_what_was_there_are_found() -> None:
    (row,) = found(RULE, program().trace())
    assert row.title == "A tensor grows by concatenation: 6 times a step"
    assert row.saving_share is not None
    assert 0.1 < row.saving_share < 0.6


def test_a_static_cache_is_fine() -> None:
    assert found(RULE, program(static=True).trace()) == []


def test_two_sizes_may_be_equal_by_accident() -> None:
    assert found(RULE, program(times=2, steps=1).trace()) == []


def test_halves_that_are_joined_do_not_grow() -> None:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for width in (256, 512, 1024):
                run.run("aten::cat", [((64, width), BF16), ((64, 3 * width), BF16)], "1")
            run.wait()
    assert found(RULE, run.trace()) == []
