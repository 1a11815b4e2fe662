"""Modules and annotations as regions."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.operators import named_regions
from tb_privateuse1.trace.model import NONE, Trace
from tests.support.make import annotation, frame, op, step, trace

BLOCK = annotation("block", 10, 40), annotation("inner", 12, 20), op("aten::mm", 14, 18)
MODULES = frame("nn.Module: Net_0", 0, 90), frame("nn.Module: Linear_1", 13, 19)


@pytest.mark.parametrize(
    ("made", "source", "labels", "parent"),
    [
        (trace(step(1, 0, 100), *BLOCK), "annotations", ["block", "inner"], [NONE, 0]),
        (trace(step(1, 0, 100), *BLOCK, *MODULES), "modules", ["Net_0", "Linear_1"], [NONE, 0]),
        (Trace(), "annotations", [], []),
    ],
)
def test_modules_precede_annotations(
    made: Trace, source: str, labels: list[str], parent: list[int]
) -> None:
    """Annotations are used without modules; steps are not regions."""
    found = named_regions.find_regions(made)
    names, label = named_regions.region_labels(made, found.name, "instance")
    assert found.source == source
    assert [names[i] for i in label.tolist()] == labels
    assert found.parent.tolist() == parent


def test_operators_are_in_the_innermost_region() -> None:
    """The operator is in the inner annotation, or in the inner module."""
    made = trace(*BLOCK, *MODULES)
    (row,) = [i for i, name in enumerate(made.ops.name) if made.text(name) == "aten::mm"]
    assert named_regions.find_regions(made, "annotations").of_op[row] == 1
    assert named_regions.find_regions(made, "modules").of_op[row] == 1


def test_labels_by_class() -> None:
    """Modules of one class share a label."""
    made = trace(frame("nn.Module: Linear_0", 0, 10), frame("nn.Module: Linear_1", 20, 30))
    found = named_regions.find_regions(made)
    assert named_regions.region_labels(made, found.name, "class")[0] == ["Linear"]
    assert len(named_regions.region_labels(made, found.name, "instance")[0]) == 2
