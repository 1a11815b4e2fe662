"""Events inside a time window."""

from __future__ import annotations

import pytest

from tb_privateuse1.export.time_window import EVERYTHING, Window
from tb_privateuse1.trace.errors import TraceError
from tests.support import make


def test_ranges_that_touch_it() -> None:
    ops = [(0, 10), (10, 20), (20, 30), (5, 25), (10, 10), (20, 20)]
    trace = make.trace(*(make.op(f"{s}-{e}", s, e, id=i) for i, (s, e) in enumerate(ops)))

    def found(window: Window) -> set[str]:
        return {trace.text(trace.ops.name[row]) for row in window.rows(trace, trace.ops)}

    assert found(Window(10_000, 20_000)) == {"10-20", "5-25", "10-10"}
    assert found(Window(20_000, None)) == {"20-30", "5-25", "20-20"}
    assert found(Window(None, 10_000)) == {"0-10", "5-25"}
    assert len(found(EVERYTHING)) == len(ops)


def test_other_tables() -> None:
    trace = make.trace(
        make.op("a", 0, 30, id=1),
        make.launch(1, 2, 5),
        make.kernel("ncclDevKernel_AllReduce_Sum_f32", 10, 20, 5),
        make.memory(5, 8, 8),
        make.memory(15, -8, 0),
    )
    window = Window(14_000, 16_000)
    assert window.rows(trace, trace.memory).tolist() == [1]
    assert len(trace.collectives) == 1
    assert window.rows(trace, trace.collectives).tolist() == [0]
    assert window.rows(trace, trace.launches).tolist() == []
    assert len(window.rows(trace, trace.threads)) == len(trace.threads)
    assert Window(21_000, None).rows(trace, trace.collectives).tolist() == []


@pytest.mark.parametrize("limits", [(5, 5), (6, 5)])
def test_an_empty_one_is_a_mistake(limits: tuple[int, int]) -> None:
    with pytest.raises(TraceError, match="is empty") as caught:
        Window(*limits)
    assert caught.value.code == "bad_option"
