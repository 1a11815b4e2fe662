"""Modules of rows of several tables."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.operators import module_of
from tb_privateuse1.analysis.timeline import appearance
from tb_privateuse1.trace.model import NONE, Trace
from tests.support.make import frame, kernel, launch, op, step, trace

LINK = {"Sequence number": 5}
MADE = trace(
    step(1, 0, 200), frame("nn.Module: Net_0", 5, 60), frame("nn.Module: Linear_0", 10, 40),
    op("aten::mm", 15, 30, **LINK), launch(16, 18, 1), kernel("k", 20, 28, 1),
    op("aten::relu", 45, 50), op("aten::late", 70, 80),
    op("MmBackward0", 90, 99, thread=2, **LINK, **{"Fwd thread id": 1}),
)  # fmt: skip


def modules(table: int, rows: int) -> list[str | None]:
    """Return the module of the first rows of a table."""
    found = module_of.modules_of(
        MADE, np.full(rows, table, np.int8), np.arange(rows, dtype=np.int32)
    )
    return [MADE.text(name) if name != NONE else None for name in found.tolist()]


def test_operators_have_their_innermost_module() -> None:
    """A backward operator has the module of its forward operator."""
    names = [MADE.text(name) for name in MADE.ops.name]
    found = dict(zip(names, modules(appearance.OPS, len(names)), strict=True))
    assert found["aten::mm"] == found["MmBackward0"] == "nn.Module: Linear_0"
    assert found["aten::relu"] == "nn.Module: Net_0"
    assert found["aten::late"] is None


def test_launches_and_kernels_have_their_operators_module() -> None:
    """What an operator launches belongs to its module; steps have none."""
    assert modules(appearance.LAUNCHES, 1) == ["nn.Module: Linear_0"]
    assert modules(appearance.KERNELS, 1) == ["nn.Module: Linear_0"]
    assert modules(appearance.STEPS, 1) == [None]


def test_a_modules_call_belongs_to_that_module() -> None:
    """Frames of modules are their own modules."""
    assert modules(appearance.FRAMES, 2) == ["nn.Module: Net_0", "nn.Module: Linear_0"]


def test_traces_with_modules() -> None:
    """Modules are known from the frames."""
    assert module_of.has_modules(MADE)
    assert not module_of.has_modules(Trace())
