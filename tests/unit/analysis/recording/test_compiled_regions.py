"""When the compiler ran again, by its log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tb_privateuse1.analysis.recording.compiled_regions import (
    Recompilation,
    backward_calls,
    between_graphs,
    inside_recording,
)
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING
from tests.support.compile_logs import artifact, beside, metrics, region
from tests.support.make import Event, annotation, op, trace

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


def graph(key: str, start: float, end: float) -> Event:
    return annotation(f"## Call CompiledFxGraph {key} ##", start, end)


def test_between_graphs_is_what_a_call_has_behind_its_first_graph_outside_of_graphs() -> None:
    recording = trace(
        region("0/0", 0, 100),
        graph("fabc", 10, 40),
        region("1/0", 50, 90),
        graph("fdef", 60, 80),
        op("_compile.compile_inner (dynamo_timed)", 91, 96),
        region("2/0", 200, 300),
    )
    rows = np.flatnonzero([recording.text(n).startswith("Torch") for n in recording.ops.name])
    assert between_graphs(recording, rows).tolist() == [35_000, 0, 0]
    assert between_graphs(recording, rows[1:]).tolist() == [10_000, 0]
    assert between_graphs(recording, rows[:0]).tolist() == []


def cached(key: str, compile_id: str) -> str:
    return artifact("fx_graph_cache_miss", json.dumps({"key": key}), compile_id)


def test_a_graph_outside_of_regions_is_a_backward_pass_that_the_log_knows(tmp_path: Path) -> None:
    log = metrics("0/0") + metrics("0/0", key="bwd_compilation_metrics") + metrics("1/0")
    log += cached("fabc", "0/0") + cached("fback", "0/0")
    log += cached("fboth", "0/0") + cached("fboth", "1/0")
    events = (
        region("0/0", 0, 50),
        graph("fabc", 10, 40),
        op("autograd::engine::evaluate_function: CompiledFunctionBackward", 60, 100),
        op("CompiledFunctionBackward", 65, 95),
        graph("fback", 70, 90),
        graph("fback", 110, 120),
        graph("fboth", 130, 140),
        graph("funknown", 150, 160),
    )
    found = backward_calls(beside(tmp_path, log, events=events))
    assert found.compile_ids == ("0/0", "0/0")
    assert found.time_ns.tolist() == [30_000, 10_000]
    assert found.outside_ns.tolist() == [10_000, 0]
