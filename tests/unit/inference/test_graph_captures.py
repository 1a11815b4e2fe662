"""Kernels of graph replays have the operators, modules and lines of the graph's capture."""

from __future__ import annotations

import pytest

from tb_privateuse1.inference import graph_captures
from tb_privateuse1.trace.model import Trace
from tests.support.graphs import call, captured, replay
from tests.support.make import kernel, op, trace
from tests.support.shared_traces import FOLDER, load, needs_traces

CAPTURE = "sglang_decode_capture"


def paths(t: Trace) -> list[str]:
    """The captured ranges around each kernel, the outermost first."""
    found = []
    for node in t.kernels.capture.tolist():
        names: list[str] = []
        at = node
        while at >= 0:
            names.insert(0, t.text(t.captures.name[at]))
            at = int(t.captures.parent[at])
        found.append(" / ".join(names))
    return found


NET = "nn.Module: Net_0 / aten::"


def test_kernels_of_each_replay_have_the_captures_ranges() -> None:
    t = trace(
        *captured(10),
        *replay(100, 1, "mm_kernel", "add_kernel"),
        *replay(200, 2, "mm_kernel", "add_kernel"),
    )
    assert paths(t) == [NET + "mm", NET + "add"] * 2
    assert t.kernels.op.tolist() == [-1] * 4


def test_order_counts_among_kernels_of_one_name_only() -> None:
    t = trace(*captured(10), *replay(100, 1, "add_kernel", "mm_kernel", streams=2))
    assert paths(t) == [NET + "add", NET + "mm"]


@pytest.mark.parametrize("names", [("mm_kernel",) * 2, ("mm_kernel", "add_kernel", "add_kernel")])
def test_another_graph_has_no_capture(names: tuple[str, ...]) -> None:
    t = trace(*captured(10), *replay(100, 1, *names))
    assert paths(t) == [""] * len(names)
    assert not len(t.captures)


def test_without_names_the_order_of_one_stream_counts() -> None:
    events = captured(10, named=False)
    assert paths(trace(*events, *replay(100, 1, "a", "b"))) == [NET + "mm", NET + "add"]
    assert paths(trace(*events, *replay(100, 1, "a", "b", streams=2))) == ["", ""]
    assert paths(trace(*events, *replay(100, 1, "a", "b", "c"))) == [""] * 3


def test_two_captures_that_could_be_it_are_none() -> None:
    events = captured(10, named=False) + captured(50, named=False, ops=("mul", "exp"))
    assert paths(trace(*events, *replay(100, 1, "a", "b"))) == ["", ""]
    same = captured(10) + captured(50)
    assert paths(trace(*same, *replay(100, 1, "mm_kernel", "add_kernel")))[0] == NET + "mm"


def test_copies_go_by_their_own_order() -> None:
    events = [*captured(10), call("cudaMemcpyAsync", 18)]
    copy = kernel("Memcpy DtoD", 105, 106, 1, category="gpu_memcpy")
    t = trace(*events, *replay(100, 1, "mm_kernel", "add_kernel"), copy)
    assert paths(t) == ["nn.Module: Net_0", NET + "mm", NET + "add"]


def test_a_capture_of_another_recording() -> None:
    t = trace(*replay(100, 1, "mm_kernel", "add_kernel"))
    other = trace(*captured(10))
    assert paths(graph_captures.add_captures(t, lambda: [other])) == [NET + "mm", NET + "add"]


def test_no_other_recording_is_read_without_need() -> None:
    def others() -> list[Trace]:
        raise AssertionError("not needed")

    graph_captures.add_captures(trace(op("a", 0, 1), *captured(10)), others)
    own = trace(*captured(10), *replay(100, 1, "mm_kernel", "add_kernel"))
    graph_captures.add_captures(own, others)


@needs_traces
def test_a_served_model_and_its_capture() -> None:
    served, recorded = (
        load(next((FOLDER / "rocm" / name).glob("*.json.gz")))
        for name in ("sglang_decode", CAPTURE)
    )
    made = graph_captures.add_captures(served, lambda: [recorded])
    replayed = made.kernels.capture >= 0
    assert replayed.sum() == 544
    assert all("nn.Module: Qwen3" in path or "nn.Module: Logits" in path or not path
               or "run_once" in path for path in paths(made))  # fmt: skip
    assert sum("nn.Module: Qwen3Model_0" in path for path in paths(made)) > 500
