"""Tests of loops over items in recordings whose steps are not marked."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.rules.indexing_loop import RULE
from tests.support.program import found
from tests.support.sized import SizedProgram, full, recorded


def steps(rounds: int, *, carried: bool) -> SizedProgram:
    """Build a program of steps with a loop each; with a state, each round adds to it."""
    run = SizedProgram()
    for _ in range(6):
        for time in range(rounds):
            run.op("aten::select", 1, **recorded(full(rounds, 4096), "0", str(time)))
            run.run("aten::exp", full(4096), host=20)
            if carried:
                run.run("aten::add", full(4096), full(4096), "1", host=20)
        for _ in range(10):
            run.run("aten::log", full(64, 64), host=20)
        run.wait()
    return run


@pytest.mark.parametrize(("rounds", "carried", "findings"), [(32, True, 0), (12, False, 1)])
def test_equal_steps_hide_no_loop_in_them(rounds: int, carried: bool, findings: int) -> None:
    """The steps are equal rounds themselves, which take the same items each time."""
    assert len(found(RULE, steps(rounds, carried=carried).trace())) == findings
