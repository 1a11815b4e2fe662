"""Data missing in the profile."""

from tb_privateuse1.advice.rules.incomplete_recording import RULE
from tests.support import make
from tests.support.program import found


def test_missing_data_are_named() -> None:
    (row,) = found(RULE, make.trace(make.op("aten::mm", 0, 10)))
    assert row.title == (
        "The profile leaves out two or more steps, input shapes, Python stacks, memory events"
    )


def test_a_full_recording_lacks_nothing() -> None:
    events = [make.step(i, 100 * i, 100 * i + 90) for i in range(2)]
    events += [make.op("aten::mm", 10, 20, **{"Input Dims": [[2, 2]]})]
    events += [make.frame("train.py(1): step", 5, 30), make.memory(15, 8, 8)]
    assert found(RULE, make.trace(*events)) == []
