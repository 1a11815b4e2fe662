"""Kernels of graph replays on the pages: at their launch's place, and at their capture's."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.operators.groups import Group
from tb_privateuse1.inference import graph_captures
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.flame import Flame, flame
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.modules import modules
from tb_privateuse1.views.operators import operators
from tests.support.graphs import captured, replay
from tests.support.invariants import check
from tests.support.make import annotation, frame, kernel, op, trace
from tests.support.shared_traces import FOLDER, load, needs_traces

REPLAYS = (
    *replay(100, 1, "mm_kernel", "add_kernel"),
    *replay(200, 2, "mm_kernel", "add_kernel"),
    kernel("unknown", 300, 305),
)
SERVED = trace(op("aten::copy_", 90, 95), *REPLAYS)
KNOWN = trace(*captured(10), *REPLAYS)


def paths(graph: Flame) -> dict[str, int]:
    """The total of each node by its path."""
    found: list[str] = []
    for row in graph.rows:
        found.append(row.name if row.parent is None else f"{found[row.parent]} / {row.name}")
    return {path: row.total_ns for path, row in zip(found, graph.rows, strict=True)}


def test_a_replay_is_a_row_of_the_operators_table() -> None:
    rows = operators(SERVED).rows
    assert [(r.name, r.launcher, r.device_self_ns, r.kernels, r.launches) for r in rows] == [
        ("aten::copy_", None, 0, 0, 0),
        (None, "cudaGraphLaunch", 4_000, 4, 2),
        (None, None, 5_000, 1, 0),
    ]
    assert operators(SERVED).unlinked_device_ns == 9_000
    assert [r.launcher for r in operators(SERVED, limit=0).rows] == [None]


def test_the_captures_operators_are_rows_of_their_own() -> None:
    rows = [r for r in operators(KNOWN).rows if r.launcher]
    assert [(r.name, r.category, r.device_self_ns, r.calls) for r in rows] == [
        ("aten::mm", "gemm", 2_000, 0),
        ("aten::add", "elementwise", 2_000, 0),
    ]
    by_category = [r for r in operators(KNOWN, group="category").rows if r.launcher]
    assert [(r.name, r.category) for r in by_category] == [
        ("gemm", "gemm"), ("elementwise", "elementwise"),
    ]  # fmt: skip
    names = {r.name: r.operator for r in kernels(KNOWN).rows}
    assert names == {"GEMM mm": "aten::mm", "elementwise add": "aten::add", "unknown": None}


@pytest.mark.parametrize(
    ("t", "group", "text"),
    [
        (SERVED, "stack", "serve.py(9): step"),
        (KNOWN, "stack", "nn.Module: Net"),
        (SERVED, "module", None),
        (KNOWN, "module", "Net"),
    ],
)
def test_modules_and_stacks_of_replays(t: Trace, group: Group, text: str | None) -> None:
    rows = [r for r in operators(t, group=group).rows if r.launcher]
    assert {r.stack if group == "stack" else r.module for r in rows} == {text}


def test_the_flame_graph_has_replays_below_their_frames() -> None:
    step = "serve.py(9): step"
    assert paths(flame(SERVED)) == {
        "no parent operator": 5_000, "no parent operator / unknown": 5_000, step: 4_000,
        f"{step} / GEMM mm": 2_000, f"{step} / elementwise add": 2_000,
    }  # fmt: skip
    net = f"{step} / nn.Module: Net_0".replace("nn.Module: ", "")
    found = paths(flame(KNOWN))
    assert found[net] == 4_000
    assert found[f"{net} / aten::mm / GEMM mm"] == 2_000
    assert paths(flame(KNOWN, levels="modules"))["Net_0"] == 4_000


def test_modules_of_a_capture_have_the_time_of_its_replays() -> None:
    tree = modules(KNOWN, window="all")
    assert [(r.name, r.calls, r.kernels, r.device_total_ns) for r in tree.rows] == [
        ("Net_0", 1, 4, 4_000)
    ]
    assert tree.outside_device_ns == 5_000


def test_modules_around_the_replay() -> None:
    t = trace(frame("nn.Module: Graphed_0", 90, 150), *replay(100, 1, "a", "b"))
    assert [(r.name, r.device_self_ns) for r in modules(t).rows] == [("Graphed_0", 2_000)]
    t = trace(annotation("decode", 90, 150), *replay(100, 1, "a", "b"))
    assert [(r.name, r.device_self_ns) for r in modules(t).rows] == [("decode", 2_000)]


@pytest.mark.long
@pytest.mark.parametrize("t", [SERVED, KNOWN])
def test_sums_close(t: Trace) -> None:
    check(t)


@needs_traces
@pytest.mark.parametrize("name", ["sglang_decode", "vllm_decode_graph"])
def test_a_served_model_has_a_place_for_its_kernels(name: str) -> None:
    t = load(next((FOLDER / "rocm" / name).glob("*.json.gz")))
    graph = flame(t)
    assert sum(r.total_ns for r in graph.rows if r.kind == "none") < 0.05 * (graph.total_ns or 0)
    check(t)


@needs_traces
def test_a_served_model_with_its_capture() -> None:
    served, recorded = (
        load(next((FOLDER / "rocm" / name).glob("*.json.gz")))
        for name in ("sglang_decode", "sglang_decode_capture")
    )
    t = graph_captures.add_captures(served, lambda: [recorded])
    table = operators(t)
    named = sum(r.device_self_ns or 0 for r in table.rows if r.launcher and r.name)
    assert named > 0.95 * (table.unlinked_device_ns or 0)
    check(t)
