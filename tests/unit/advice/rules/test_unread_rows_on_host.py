"""Elements of a product that are read one by one, on a processor alone."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.rules.unread_rows import RULE
from tests.support.autograd import HostTraining
from tests.support.program import found
from tests.support.sized import FP32, full, recorded


@pytest.mark.parametrize(("copied", "is_found"), [(2048, True), (1 << 14, False)])
def test_calls_on_next_to_nothing_show_no_rate_of_memory(copied: int, is_found: bool) -> None:
    """Few numbers move 1 GB/s by the start of their call; many that do are a slow memory."""
    run = HostTraining()
    for _ in range(4):
        with run.step():
            run.rest(1)
            run.op(
                "aten::mm", 700, **recorded(full(384, 256, dtype=FP32), full(256, 384, dtype=FP32))
            )
            index = full(384, 1, dtype="long int")
            run.op("aten::gather", 3, **recorded(full(384, 384, dtype=FP32), "1", index, "False"))
            run.op("aten::mean", 3, **recorded(full(384, dtype=FP32), ""))
            numbers = full(copied, dtype=FP32)
            for _ in range(20):
                run.op("aten::abs", 8 * copied / 1000, **recorded(numbers))
            run.rest(1)
    assert bool(found(RULE, run.trace())) is is_found
