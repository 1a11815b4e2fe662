"""Calls of TorchScript's modules, from the texts of operators."""

from __future__ import annotations

from typing import Any

from tb_privateuse1.analysis.operators import groups
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.modules import modules
from tests.support.make import Event, annotation, frame, op, trace

TOP = "TOP(A)::forward."
INSIDE = TOP + "b(B)::forward."
LINEAR = INSIDE + "lin(Linear)::forward."


def of(text: str) -> dict[str, Any]:
    return {"Module Hierarchy": text}


def tree(t: Trace) -> list[tuple[str, int, int]]:
    """The paths of the modules with their calls and time."""
    return [(r.path, r.calls, r.host_total_ns) for r in modules(t, window="all").rows]


def call(at: float, **more: Any) -> list[Event]:
    """A call of a module with two others inside, 100 us long."""
    return [
        op("forward", at, at + 100, **of(TOP), **more),
        op("aten::linear", at + 10, at + 30, **of(LINEAR)),
        op("aten::addmm", at + 12, at + 28, **of(LINEAR)),
        op("aten::relu", at + 35, at + 40, **of(INSIDE)),
        op("aten::add", at + 50, at + 60, **of(TOP)),
    ]


def test_a_run_of_operators_is_a_call() -> None:
    t = trace(*call(0), *call(200))
    assert tree(t) == [
        ("A", 2, 200_000),
        ("A / b(B)", 2, 60_000),
        ("A / b(B) / b.lin(Linear)", 2, 40_000),
    ]
    assert not modules(t).stacks


def test_modules_are_around_operators_of_the_same_time() -> None:
    t = trace(*call(0))
    innermost = groups.innermost_modules(t)
    found = {
        t.text(name): groups.module_class(t.text(module))
        for name, module in zip(t.ops.name.tolist(), innermost.tolist(), strict=True)
    }
    assert found == {
        "forward": "A", "aten::linear": "Linear", "aten::addmm": "Linear", "aten::relu": "B",
        "aten::add": "A",
    }  # fmt: skip


def test_classes_merge() -> None:
    t = trace(*call(0), op("aten::mm", 70, 80, **of(TOP + "c(B)::forward.")))
    rows = modules(t, window="all", group="class").rows
    assert [(r.path, r.instances) for r in rows][:2] == [("A", 1), ("A / B", 2)]


def test_a_graph_inside_lies_in_the_module_that_runs_it() -> None:
    inner = "TOP()::<forward op>.lin(Linear)::forward."
    t = trace(
        op("forward", 0, 100, **of(TOP)),
        op("aten::relu", 2, 4, **of(INSIDE)),
        op("<forward op>", 10, 50, **of("TOP()::<forward op>.")),
        op("aten::linear", 20, 40, **of(inner)),
        op("aten::t", 22, 24),
    )  # fmt: skip
    assert tree(t) == [
        ("A", 1, 100_000), ("A / lin(Linear)", 1, 20_000), ("A / b(B)", 1, 2_000),
    ]  # fmt: skip


def test_functions_and_the_module_itself_are_no_modules() -> None:
    text = TOP + "::helper.SELF(A)::other.b(B)::forward."
    assert tree(trace(op("aten::relu", 0, 10, **of(text)))) == [
        ("A", 1, 10_000), ("A / b(B)", 1, 10_000),
    ]  # fmt: skip


def test_threads_have_their_own_calls() -> None:
    t = trace(*call(0), *(event | {"tid": 2} for event in call(50)))
    assert tree(t)[0] == ("A", 2, 200_000)


def test_texts_that_are_early_behind_nodes_of_autograd_are_placed() -> None:
    """Each node of autograd takes the text of the operator behind it (torch 2.13)."""
    names = [
        ("forward", 0, 40, TOP), ("aten::mm", 10, 20, INSIDE),
        ("autograd::engine::evaluate_function: MmBackward0", 50, 90, ""),
        ("MmBackward0", 52, 88, None), ("aten::mm", 60, 80, ""),
        ("forward", 100, 140, TOP), ("aten::relu", 105, 108, TOP), ("aten::mm", 110, 120, INSIDE),
    ]  # fmt: skip
    texts = [text for *_, text in names if text is not None] + [""]
    events = [
        op(name, start, end, **(of(text) if text else {}))
        for (name, start, end, _), text in zip(names, texts, strict=True)
    ]
    assert tree(trace(*events)) == [("A", 2, 80_000), ("A / b(B)", 2, 20_000)]


def test_recorded_modules_are_around_those_of_texts() -> None:
    t = trace(frame("nn.Module: Linear_0", 0, 100), *call(0))
    names = [t.text(name) for name in t.frames.name.tolist()]
    assert names == [
        "nn.Module: Linear_0",
        "nn.Module: A",
        "nn.Module: b(B)",
        "nn.Module: b.lin(Linear)",
    ]
    assert t.frames.parent.tolist() == [-1, 0, 1, 2]


def test_without_texts_there_are_none() -> None:
    t = trace(op("a", 0, 1), annotation("mine", 0, 2))
    assert len(t.frames) == 0
    assert not call_tree.has_functions(t)


def test_names() -> None:
    assert call_tree.class_of("nn.Module: b.lin(Linear)") == "nn.Module: Linear"
    assert call_tree.class_of("lin(Linear)") == "Linear"
    assert call_tree.class_of("void kernel<int>(float*)") == "void kernel<int>(float*)"
