"""Phases of training."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.steps import training_phases
from tb_privateuse1.trace.model import NONE, Trace
from tests.support.make import Event, annotation, frame, op, trace

ENGINE = training_phases.ENGINE + ": "
SEQUENCE, FORWARD = "Sequence number", "Fwd thread id"


def forward(name: str, start: float, end: float, sequence: int) -> Event:
    """Build a forward operator with a sequence number."""
    return op(name, start, end, **{SEQUENCE: sequence})


def backward(start: float, end: float, sequence: int, **args: int) -> Event:
    """Build a node of the backward pass."""
    links = {SEQUENCE: sequence, FORWARD: 1}
    return op(f"{ENGINE}MmBackward0", start, end, **links, **args)


def test_forward_operators_and_optimizer_steps_separate_passes() -> None:
    """Forward operators and optimizer steps separate passes."""
    t = trace(
        op("aten::randn", 1, 2),
        forward("aten::mm", 5, 9, 0), forward("aten::relu", 9, 10, 1),
        backward(12, 14, 1, thread=2), backward(14, 20, 0, thread=2),
        forward("aten::mm", 30, 35, 2), backward(36, 38, 2, thread=2),
        annotation("Optimizer.step#SGD.step", 40, 44),
        backward(50, 51, 2, thread=2),
    )  # fmt: skip
    found = training_phases.find_passes(t)
    assert found.forward_ns.tolist() == [4000, 29000, 49000]
    assert found.backward_ns.tolist() == [11000, 35000, 49000]
    assert found.end_ns.tolist() == [19000, 37000, 50000]


def test_recomputation_is_not_a_forward_pass() -> None:
    """Recomputation in the backward pass is not a forward pass."""
    t = trace(
        forward("aten::mm", 0, 9, 0), backward(12, 30, 0), forward("aten::mm", 13, 16, 7),
        backward(17, 20, 7), backward(31, 33, 7),
    )  # fmt: skip
    assert training_phases.find_passes(t).end_ns.tolist() == [33000]


def test_without_a_backward_pass_there_are_no_passes() -> None:
    """Without a backward pass there are no passes."""
    assert not len(training_phases.find_passes(trace(op("aten::mm", 0, 9))).end_ns)
    assert not len(training_phases.find_passes(Trace()).end_ns)


def test_ranges_around_operators() -> None:
    """Ranges around operators have their phase."""
    t = trace(
        annotation("enumerate(DataLoader)#_Single.__next__", 0, 10),
        op("aten::stack", 1, 9), op("aten::cat", 2, 8),
        frame("torch/nn/modules/linear.py(1): __init__", 20, 30), op("aten::empty", 21, 22),
        frame("nn.Module: Linear_0", 40, 60), op("aten::linear", 41, 50), op("aten::addmm", 42, 49),
        annotation("Optimizer.step#SGD.step", 70, 90), annotation("mine", 71, 89),
        op("aten::add_", 72, 73),
    )  # fmt: skip
    row = {t.text(n): i for i, n in enumerate(t.ops.name)}
    names = ("aten::cat", "aten::empty", "aten::addmm", "aten::add_")
    ops = np.array([*(row[n] for n in names), NONE, NONE], np.int32)
    at = np.array([0, 0, 0, 0, 80_000, 95_000])
    near = training_phases.phases_around(t, ops, np.zeros(6, np.int32), at)
    assert near.kind.tolist() == [
        training_phases.LOADING,
        NONE,
        NONE,
        training_phases.STEPPING,
        training_phases.STEPPING,
        NONE,
    ]
    assert near.row.tolist()[3] == row["Optimizer.step#SGD.step"]
    assert near.outermost.tolist() == [
        row["aten::stack"], row["aten::empty"], row["aten::linear"], row["aten::add_"], NONE, NONE,
    ]  # fmt: skip
    assert near.in_module.tolist() == [False, False, True, False, False, False]
    assert near.makes_module.tolist() == [False, True, False, False, False, False]
