"""Activities and operators in groups: a partition, with the names that the program has."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.analysis.kernels import time_groups
from tb_privateuse1.analysis.kernels.time_groups import By, Label
from tb_privateuse1.trace.model import Trace
from tests.support.graphs import captured, replay
from tests.support.make import annotation, frame, kernel, launch, op, step, trace

MODEL = trace(
    step(1, 0, 200), annotation("## forward ##", 5, 60),
    frame("train.py(3): main", 2, 190), frame("nn.Module: Linear_4", 10, 50),
    frame("torch/nn/functional.py(9): linear", 12, 45),
    op("aten::mm", 15, 40, **{"Sequence number": 7}), launch(20, 22, 1), kernel("gemm", 30, 40, 1),
    op("MmBackward", 100, 130, thread=2, **{"Sequence number": 7, "Fwd thread id": 1}),
    launch(105, 106, 2, thread=2), kernel("gemm_bwd", 110, 125, 2),
    frame("optim.py(5): step", 150, 160), launch(152, 153, 3), kernel("Memset", 155, 156, 3),
    kernel("lost", 170, 175),
)  # fmt: skip

BY: tuple[By, ...] = ("operator", "kernel", "module", "function", "annotation")


def names(made: Trace, by: By) -> list[str | None]:
    """The name of the group of each activity."""
    found = time_groups.activity_groups(made, by)
    return [found.labels[i].name for i in found.member.tolist()]


def test_each_activity_is_in_one_group() -> None:
    assert names(MODEL, "operator") == ["aten::mm", "MmBackward", None, None]
    assert names(MODEL, "kernel") == ["gemm", "gemm_bwd", "Memset", "lost"]
    assert names(MODEL, "module") == ["Linear", "Linear", None, None]
    assert names(MODEL, "annotation") == ["## forward ##", "## forward ##", None, None]


def test_the_backward_pass_has_the_function_of_the_forward_pass() -> None:
    assert names(MODEL, "function") == [
        "main (train.py)", "main (train.py)", "step (optim.py:5)", None,
    ]  # fmt: skip


def test_a_launch_without_an_operator_is_named() -> None:
    found = time_groups.activity_groups(MODEL, "operator")
    assert Label("operator", None, "cudaLaunchKernel") in found.labels
    assert Label("operator", None, None) in found.labels


def test_stacks_in_the_operators_arguments() -> None:
    stack: dict[str, Any] = {"Call stack": "torch/x.py(1): y;train.py(8): step"}
    made = trace(op("aten::mm", 0, 10, **stack), launch(1, 2, 1), kernel("gemm", 3, 4, 1))
    assert names(made, "function") == ["train.py:8 in step"]
    assert "function" in time_groups.available_groups(made)


def test_a_replay_has_the_places_of_its_capture() -> None:
    made = trace(*captured(10), *replay(100, 1, "mm_kernel", "add_kernel"))
    assert names(made, "operator") == ["aten::mm", "aten::add"]
    assert names(made, "module") == ["Net", "Net"]
    assert names(made, "function") == ["step (serve.py:9)"] * 2
    inside = frame("model.py(4): forward", 10.5, 29)
    made = trace(*captured(10), inside, *replay(100, 1, "mm_kernel", "add_kernel"))
    assert names(made, "function") == ["Net.forward (model.py)"] * 2


@pytest.mark.parametrize("by", BY)
def test_instances_of_a_class_are_one_group(by: By) -> None:
    events = [frame(f"nn.Module: Linear_{i}", 10 * i, 10 * i + 9) for i in range(3)]
    calls = [op("aten::mm", 10 * i + 1, 10 * i + 8) for i in range(3)]
    found = time_groups.operator_groups(trace(*events, *calls), by)
    assert len({found.labels[i] for i in found.member.tolist()}) == 1


def test_only_groups_with_names_are_offered() -> None:
    assert time_groups.available_groups(MODEL) == BY
    plain = trace(frame("torch/x.py(1): f", 0, 9), op("aten::mm", 1, 8))
    assert time_groups.available_groups(plain) == ("operator",)
    assert time_groups.available_groups(Trace()) == ("operator",)
