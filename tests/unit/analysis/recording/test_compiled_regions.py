"""When the compiler ran again, by its log."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.recording.compiled_regions import Recompilation, inside_recording
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING
from tests.support.make import op, trace

SECOND_NS = 10**9


def again(start_ns: int, total_ns: int) -> Recompilation:
    return Recompilation("f", None, "n == 1", False, start_ns, total_ns)


def test_recompilations_are_joined_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some overlap, one has no start; the first and the last are cut at the recording."""
    spans = [again(-SECOND_NS, SECOND_NS + 10), again(int(MISSING), 50)]
    spans += [again(100 * i, 150 if i % 2 else 50) for i in range(1, 101)]
    unions: list[int] = []
    union = intervals.union

    def counted(starts: np.ndarray, ends: np.ndarray) -> intervals.Set:  # type: ignore[type-arg]
        unions.append(len(starts))
        return union(starts, ends)

    recording = trace(op("aten::mm", 0, 10))
    monkeypatch.setattr(intervals, "union", counted)
    ran = inside_recording(recording, spans)
    assert intervals.length(ran) == 10 + 49 * 150 + 100
    assert len(unions) <= 2
