"""Where on the host a device activity comes from, with and without an operator."""

from __future__ import annotations

from tb_privateuse1.trace.kernel_context import kernel_context, kernel_parents, launching_call
from tests.support.make import annotation, frame, kernel, launch, op, trace

SERVED = trace(
    annotation("decode", 0, 50), frame("serve.py(3): step", 5, 45), launch(20, 21, 1),
    kernel("replayed", 30, 40, 1), kernel("replayed again", 40, 45, 1),
    frame("serve.py(4): sample", 60, 90), op("aten::argmax", 61, 70), launch(62, 63, 2),
    kernel("argmax", 71, 80, 2), kernel("of unknown origin", 95, 99),
)  # fmt: skip


def test_without_an_operator_the_launch_has_the_place() -> None:
    t, found = SERVED, kernel_context(SERVED)
    names = [t.text(t.frames.name[row]) if row >= 0 else "" for row in found.frame]
    assert names == ["serve.py(3): step"] * 2 + ["serve.py(4): sample", ""]
    around = [t.text(t.ops.name[row]) if row >= 0 else "" for row in found.around]
    assert around == ["decode", "decode", "aten::argmax", ""]
    assert [t.text(n) for n in launching_call(t)] == ["cudaLaunchKernel"] * 2 + ["", ""]


def test_the_parent_is_the_inner_one_of_annotation_and_frame() -> None:
    inner = trace(frame("f", 0, 50), annotation("decode", 5, 45), launch(20, 21, 1),
                  kernel("k", 30, 40, 1))  # fmt: skip
    assert kernel_parents(inner).tolist() == [0]  # the annotation
    assert kernel_parents(SERVED).tolist() == [2, 2, 1, -1]  # frames count behind two ranges
