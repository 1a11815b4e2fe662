"""Compilation: what torch's log says, joined with the calls of the recording."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

import tb_privateuse1 as tbp
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import compilation as view
from tb_privateuse1.views.compilation import compilation
from tests.support.compile_logs import BREAK, artifact, beside, metrics, region
from tests.support.make import annotation, op, step, trace

GOLDEN = Path(__file__).parents[2] / "traces" / "without_device" / "compiled"
"""Five compiled functions in torch 2.13 on the CPU, at most three compilations of each: two graph
breaks (print, item), other sizes, another integer, another float, and a backward pass."""

COMPILED_S = (
    39.9675, 2.7476, 2.9173, 3.2745, 3.6469, 3.0735, 4.4629, 0.4533, 10.0284, 11.0672, 0.2251,
    9.5171, 9.0011, 0.0007, 0.0006, 0.0007,
)  # fmt: skip
BACKEND_S = (
    39.5194, 2.6207, 2.7344, 3.1350, 3.4815, 2.9483, 4.1526, 0.0852, 9.5743, 10.5572, 0.0551,
    9.1665, 8.5922,
)  # fmt: skip
INDUCTOR_S = (
    37.1060, 2.5194, 2.6502, 3.0709, 3.3520, 2.8425, 3.8353, 10.3014, 9.2481, 10.1662, 8.7125,
    8.2583,
)  # fmt: skip
"""``torch._dynamo.utils.compile_times()`` of the program: ``_compile.compile_inner``,
``OutputGraph.call_user_compiler`` and ``compile_fx_inner``."""


@functools.cache
def golden() -> Trace:
    return tbp.open(GOLDEN).trace()


def test_counts_are_those_of_torch() -> None:
    """``torch._dynamo.utils.counters``: frames, graph_break, inductor."""
    result = compilation(golden())
    assert sum(not row.backward for row in result.rows) == 16  # frames.total
    assert sum(row.failure is None for row in result.rows if not row.backward) == 13  # frames.ok
    assert len(result.graph_breaks) == 2
    assert (result.cache_hits, result.cache_misses, result.cache_bypasses) == (2, 12, 0)
    assert (result.recompilations, result.failures) == (9, 3)


def test_times_are_those_of_torch() -> None:
    rows = compilation(golden()).rows
    forward = [row for row in rows if not row.backward]
    assert [round(row.total_ns or 0, -5) / 1e9 for row in forward] == pytest.approx(
        COMPILED_S, abs=1e-4
    )
    backend = [(row.total_ns or 0) - (row.dynamo_ns or 0) for row in forward if row.failure is None]
    assert [one / 1e9 for one in backend] == pytest.approx(BACKEND_S, abs=1e-4)
    inductor = [row.inductor_ns + (row.codegen_ns or 0) for row in rows if row.inductor_ns]
    assert [one / 1e9 for one in inductor] == pytest.approx(INDUCTOR_S, abs=1e-4)


def test_phases_are_the_times_of_all_compilations() -> None:
    result = compilation(golden())
    assert [one.phase for one in result.phases] == ["dynamo", "aot", "inductor", "codegen"]
    assert sum(one.time_ns for one in result.phases) == sum(r.total_ns or 0 for r in result.rows)


def test_the_backward_pass_has_its_calls() -> None:
    """One in each of five steps; its region has as many, and the graph of the forward pass."""
    rows = [row for row in compilation(golden()).rows if row.compile_id == "6/0"]
    assert [(row.backward, row.calls) for row in rows] == [(False, 5), (True, 5)]
    assert 0 < rows[1].outside_ns < rows[1].call_ns < rows[0].call_ns
    assert rows[1].op is not None


def test_graph_breaks_have_reason_and_line() -> None:
    one, two = compilation(golden()).graph_breaks
    assert (one.function, one.file, one.line, one.calls) == ("broken", "/app/train.py", 14, 5)
    assert one.reason == "Failed to trace builtin operator"
    assert (two.function, two.line) == ("item", 19)
    assert two.advice is not None
    assert "capture_scalar_outputs" in two.advice


def test_a_recompilation_has_the_guard_that_failed() -> None:
    row = next(row for row in compilation(golden()).rows if row.compile_id == "4/2")
    assert row.reason == "4/1: tensor 'x' size mismatch at index 0. expected 5, actual 6"
    assert row.earlier == "4/0: tensor 'x' size mismatch at index 0. expected 4, actual 6"
    assert (row.function, row.calls, row.cache) == ("shapes", 1, "miss")


def test_compilations_are_on_the_clock_of_the_recording() -> None:
    """torch's own range of the compilation begins within a millisecond of what the log says."""
    recording = golden()
    ops = recording.ops
    ranges = [
        int(start)
        for start, name in zip(ops.start_ns, ops.name.tolist(), strict=True)
        if recording.text(name) == "_compile.compile_inner (dynamo_timed)"
    ]
    inside = [row for row in compilation(recording).rows if row.inside_ns]
    starts = [row.start_ns for row in inside]
    assert len(ranges) == 6
    assert starts == pytest.approx(ranges, abs=1e6)
    assert all(row.inside_ns == row.total_ns for row in inside)


CALLS = (
    region("0/0", 0, 100),
    annotation("## Call CompiledFxGraph fabc ##", 10, 40),
    region("1/0", 50, 90),
    annotation("## Call CompiledFxGraph fdef ##", 60, 80),
    op("_compile.compile_inner (dynamo_timed)", 91, 96),
)


def test_calls_are_known_without_a_log() -> None:
    result = compilation(trace(*CALLS))
    one, two = result.rows
    assert (one.compile_id, one.calls, one.call_ns, one.outside_ns) == ("0/0", 1, 95_000, 25_000)
    assert (two.compile_id, two.call_ns, two.outside_ns) == ("1/0", 40_000, 20_000)
    assert (result.logged, result.time_ns, result.phases) == (False, None, ())
    assert (one.total_ns, one.function, one.reason) == (None, None, None)


def test_nothing_of_a_recording_without_compiled_code() -> None:
    assert compilation(trace(op("aten::mm", 0, 10))).total_rows == 0


def test_the_part_of_a_step(tmp_path: Path) -> None:
    events = (step(1, 0, 100), region("0/0", 10, 20), step(2, 100, 200), region("0/0", 110, 130))
    found = beside(
        tmp_path, metrics(entire_frame_compile_time_s=150e-6, co_name="f"), events=events
    )
    whole, second = compilation(found), compilation(found, step=2)
    assert [(row.calls, row.call_ns) for row in whole.rows] == [(2, 30_000)]
    assert [(row.calls, row.call_ns) for row in second.rows] == [(1, 20_000)]
    assert (whole.time_ns, whole.inside_ns, second.inside_ns) == (150_000, 150_000, 50_000)


UNPLACED: tuple[tuple[str, dict[str, Any]], ...] = (
    (metrics(entire_frame_compile_time_s=2.0), {"baseTimeNanoseconds": 0}),
    (metrics(entire_frame_compile_time_s=2.0, start_time=None), {}),
    (metrics(), {}),
)


@pytest.mark.parametrize(("log", "document"), UNPLACED, ids=["clock", "start", "duration"])
def test_without_starts_nobody_knows_when_the_compiler_ran(
    tmp_path: Path, log: str, document: dict[str, Any]
) -> None:
    result = compilation(beside(tmp_path, log, **document))
    assert (result.time_ns, result.inside_ns) == (None, None)


def test_one_start_of_two_does_not_make_the_time_of_both(tmp_path: Path) -> None:
    logs = (
        metrics("0/0", entire_frame_compile_time_s=2.0),
        metrics("0/1", entire_frame_compile_time_s=2.0, start_time=None),
    )
    result = compilation(beside(tmp_path, "".join(logs)))
    assert (result.time_ns, result.inside_ns) == (None, None)
    assert sum(one.time_ns for one in result.phases) == 4 * 10**9


def test_the_cache_of_a_row_is_that_of_its_graphs(tmp_path: Path) -> None:
    """AOTAutograd's own cache is another one; a graph that missed had to be compiled."""
    caches = {
        "0/0": ("fx_graph_cache_miss", "aotautograd_cache_hit"),
        "1/0": ("aotautograd_cache_hit",),
        "2/0": ("fx_graph_cache_hit", "fx_graph_cache_miss", "fx_graph_cache_bypass"),
        "3/0": ("fx_graph_cache_bypass", "fx_graph_cache_hit"),
        "4/0": ("aotautograd_cache_miss", "fx_graph_cache_hit"),
    }
    logs = [
        metrics(name, entire_frame_compile_time_s=1.0)
        + "".join(artifact(note, "{}", name) for note in notes)
        for name, notes in caches.items()
    ]
    result = compilation(beside(tmp_path, "".join(logs)))
    found = {row.compile_id: row.cache for row in result.rows}
    assert found == {"0/0": "miss", "1/0": None, "2/0": "miss", "3/0": "bypass", "4/0": "hit"}
    assert (result.cache_hits, result.cache_misses, result.cache_bypasses) == (3, 2, 2)


def test_what_is_cut_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = [
        metrics(f"{one}/0", cudagraph_skip_reason="cpu device")
        + artifact("dynamo_graph_break_reason", BREAK, f"{one}/0")
        for one in range(3)
    ]
    recording = beside(tmp_path, "".join(logs))
    whole = compilation(recording)
    monkeypatch.setattr(view, "_MOST_ROWS", 1)
    cut = compilation(recording)
    for one, shown in ((whole, 3), (cut, 1)):
        assert (len(one.rows), len(one.graph_breaks), len(one.skips)) == (shown, shown, shown)
        assert (one.total_rows, one.total_breaks, one.total_skips) == (3, 3, 3)
