"""Kernels of graph replays have the modules and names that the program wrote into the graph."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.inference.graph_annotations import MARK
from tb_privateuse1.trace import kernel_context
from tb_privateuse1.trace.model import ANNOTATION, FRAME, OPERATOR, Trace
from tests.support import make
from tests.support.graphs import captured, replay
from tests.support.make import Event
from tests.unit.inference.test_graph_captures import paths

GRAPH = 9 << 32
"""The id of an executable graph is in the upper half of that of a node (CUPTI)."""
NODE = "graph node id"


def merged(events: list[Event], nodes: dict[int, Any]) -> list[Event]:
    """Write annotations by node into kernels, as ``annotate_trace`` of torch 2.13 does."""
    for event in events:
        given = nodes.get(event["args"].get(NODE, 0) - GRAPH)
        if isinstance(given, dict):
            event["args"].update({key: str(value) for key, value in given.items()})
        elif given is not None:
            event["args"]["annotation"] = given
    return events


def annotated(events: list[Event], nodes: dict[int, Any]) -> Trace:
    """Return the trace of events whose graph has annotations."""
    return make.trace(*merged(events, nodes))


def replays(*names: str, at: tuple[float, ...] = (100, 200)) -> list[Event]:
    """Return replays whose kernels have the numbers of their nodes, from 1 on."""
    events = []
    for correlation, start in enumerate(at, start=1):
        launched = replay(start, correlation, *names)
        kernels = [event for event in launched if event["cat"] == "kernel"]
        for number, event in enumerate(kernels, start=1):
            event["args"].update({"graph id": 9, NODE: GRAPH + number})
        events += launched
    return events


def test_modules_and_names_of_each_replay() -> None:
    """As torch's tutorial and torchtitan write them: nodes without an annotation have none."""
    nodes = {
        1: {"module_fqn": "layers.0.attention", "name": "qkv_proj", "stream": 62},
        2: {"name": "mlp"},
    }
    trace = annotated(replays("gemm", "gelu", "add"), nodes)
    modules = "nn.Module: layers / nn.Module: layers.0 / nn.Module: layers.0.attention"
    assert paths(trace) == [f"{MARK} / {modules} / qkv_proj", f"{MARK} / mlp", ""] * 2
    kinds = [ANNOTATION, ANNOTATION, FRAME, FRAME, FRAME, ANNOTATION]
    assert trace.captures.kind.tolist() == kinds
    named = kernel_context.captured_modules(trace, trace.kernels).tolist()
    assert [trace.text(name) for name in named] == ["nn.Module: layers.0.attention", "", ""] * 2


@pytest.mark.parametrize("given", [{"str": "attention"}, "attention", {"name": "attention"}])
def test_text_alone_is_a_name_in_each_spelling(given: Any) -> None:
    """``{"str": …}`` of torch 2.13, text of a program itself, and ``name`` of torch 2.14."""
    assert paths(annotated(replays("gemm", "add"), {1: given})) == [f"{MARK} / attention", ""] * 2


def test_a_name_of_an_operator_is_the_operator() -> None:
    trace = annotated(replays("gemm", "add"), {1: {"module_fqn": "proj", "name": "aten::mm"}})
    operators = kernel_context.operator_names(trace, trace.kernels).tolist()
    assert [trace.text(name) for name in operators] == ["aten::mm", ""] * 2
    assert OPERATOR in trace.captures.kind


def test_work_of_the_backward_pass_lies_in_a_range_of_its_own() -> None:
    trace = annotated(
        replays("gemm", "add"), {2: {"module_fqn": "proj", "autograd_phase": "backward"}}
    )
    assert paths(trace) == ["", f"{MARK} / backward / nn.Module: proj"] * 2


def test_the_recorded_capture_comes_first() -> None:
    events = [*captured(10), *replays("mm_kernel", "add_kernel")]
    plain = paths(annotated(events, {1: {"stream": 60}}))
    assert plain == ["nn.Module: Net_0 / aten::mm", "nn.Module: Net_0 / aten::add"] * 2
    assert paths(annotated(events, {1: {"name": "proj"}})) == plain


def test_an_eager_run_adds_operators_inside_of_annotated_modules() -> None:
    names = [f"kernel_{n}" for n in range(8)]
    eager = [make.op("aten::first", 0, 5)]
    for n, name in enumerate(names, start=1):
        eager += [
            make.op(f"aten::op{n}", 10 * n, 10 * n + 8, id=n),
            make.launch(10 * n + 2, 10 * n + 4, correlation=50 + n),
            make.kernel(name, 10 * n + 5, 10 * n + 7, 50 + n),
        ]
    trace = annotated([*eager, *replays(*names, at=(200,))], {1: {"module_fqn": "proj"}})
    found = paths(trace)[8:]
    assert found[0] == f"{MARK} / nn.Module: proj / aten::op1"
    assert found[1] == "(matched with an eager run) / aten::op2"
    assert trace.kernels.captured_op[8:].tolist() == [*range(8)]


def test_annotations_of_no_node_and_long_paths_do_no_harm() -> None:
    eager = replays("gemm", "add")
    for event in eager:
        if event["cat"] == "kernel":
            event["args"].update({NODE: 0, "name": "outside"})
    assert not len(make.trace(*eager).captures)
    deep = annotated(replays("gemm", "add"), {1: {"module_fqn": "a." * 5000 + "b"}})
    assert len(deep.captures) < 100
