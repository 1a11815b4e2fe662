"""Training, inference and serving, by the events that show them."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.recording.workload import workload
from tb_privateuse1.trace.model import Trace
from tests.support import make


def test_sequence_numbers_of_a_backward_pass_are_training() -> None:
    forward = make.op("aten::mm", 0, 10, **{"Sequence number": 7, "Fwd thread id": 0})
    backward = make.op("MmBackward0", 20, 30, **{"Sequence number": 7, "Fwd thread id": 1})
    found = workload(make.trace(forward, backward))
    assert (found.kind, found.op) == ("training", 1)


def test_an_optimizer_is_training() -> None:
    t = make.trace(make.op("aten::mm", 0, 10), make.annotation("Optimizer.step#SGD.step", 20, 30))
    assert workload(t).kind == "training"


@pytest.mark.parametrize(
    ("name", "prefill", "decode"),
    [
        ("step[DECODE bs=32]", 0, 1),
        ("step[EXTEND bs=1]", 1, 0),
        ("execute_context_1(888_788544)_generation_0(0)", 1, 0),
        ("execute_32_context_0(sq0sk0)_generation_32(sq32)", 0, 1),
        ("prefill", 1, 0),
    ],
)
def test_annotations_of_engines_are_serving(name: str, prefill: int, decode: int) -> None:
    inner = make.annotation(name, 2, 8)  # an engine and its model runner both annotate
    t = make.trace(make.annotation(name, 0, 10), inner, make.op("aten::mm", 3, 5))
    found = workload(t)
    assert (found.kind, found.prefill, found.decode) == ("serving", prefill, decode)


def test_products_without_gradients_are_inference() -> None:
    assert workload(make.trace(make.op("aten::mm", 0, 10))).kind == "inference"


def test_products_with_gradients_but_without_a_backward_pass_are_unknown() -> None:
    t = make.trace(make.op("aten::mm", 0, 10, **{"Sequence number": 7, "Fwd thread id": 0}))
    assert workload(t).kind == "unknown"


def test_nothing_is_unknown() -> None:
    found = workload(Trace())
    assert (found.kind, found.op) == ("unknown", None)
