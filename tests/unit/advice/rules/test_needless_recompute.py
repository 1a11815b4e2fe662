"""Recomputation with memory to spare."""

from tb_privateuse1.advice.rules.needless_recompute import RULE
from tests.support import make
from tests.support.program import Program, found

GIB = 1 << 30
DEVICES = [{"id": 0, "name": "x", "totalGlobalMem": 16 * GIB}]


def found_with(kept: int, frame: str) -> int:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=400)
            with run.frame(frame), run.frame("net.py(3): forward"):
                run.events.append(make.memory(run.now, 2 * GIB, 2 * GIB))
                run.rest(1)
                run.events.append(make.memory(run.now, kept, 2 * GIB + kept))
                run.op("aten::mm", 10, kernel=400)
            run.events.append(make.memory(run.now, -2 * GIB - kept, 0))
            run.wait()
    rows = found(RULE, run.trace(deviceProperties=DEVICES))
    for row in rows:
        assert row.saving_share is not None
        assert 0.4 < row.saving_share < 0.55
        assert str(row.where) == "forward (net.py:3)"
    return len(rows)


RECOMPUTE = "torch/utils/checkpoint.py(1490): recompute_fn"


def test_both_sides_of_the_threshold() -> None:
    assert found_with(5 * GIB, RECOMPUTE) == 1
    assert found_with(6 * GIB, RECOMPUTE) == 0


def test_the_first_forward_pass_is_no_recomputation() -> None:
    assert found_with(5 * GIB, "torch/utils/checkpoint.py(343): checkpoint") == 0
