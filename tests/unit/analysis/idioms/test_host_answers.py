"""Answers of the host to results: each operator is looked at once."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.idioms import host_answers
from tb_privateuse1.analysis.work.arguments import Arguments
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace.groupby import named_rows
from tb_privateuse1.trace.model import Trace
from tests.support.sized import FP32, SizedProgram, full, recorded


def test_many_results_ahead_of_one_copy_take_no_longer_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, count, looks = SizedProgram(), 50, list[int]()
    for _ in range(count):
        run.op("aten::copy_", 2, **recorded(full(8, dtype=FP32)))
        run.op("aten::add", 2, **recorded(full(8, dtype=FP32), full(8, 4, dtype=FP32)))
    run.op("aten::to", 2, kernel=3, **recorded(full(8, 4, dtype=FP32)))
    trace = run.trace()
    named = [
        np.flatnonzero(named_rows(trace.strings, trace.ops.name, name.__eq__))
        for name in ("aten::copy_", "aten::add", "aten::to")
    ]
    own = np.sort(np.concatenate(named))
    is_sent = np.isin(own, named[2])

    def look(trace: Trace, row: int) -> Arguments | None:
        looks.append(row)
        return read_call(trace, row)

    monkeypatch.setattr(host_answers, "read_call", look)

    items = host_answers.answers(trace, named[0], own, is_sent, is_sent)

    assert items.tolist() == [8] * count
    assert len(looks) < 4 * count
