"""Kernels that convert tensors from or to a memory format of the device's own."""

from __future__ import annotations

from tb_privateuse1.advice.rules.format_conversion import RULE
from tests.support.program import Program, found


def program(us: float, *, waits: bool = True, category: str = "ascend_kernel") -> Program:
    """Return steps of products with a conversion each; the host waits, or it is slow."""
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(10):
                with run.around("aten::mm", 5 if waits else 300):
                    run.launch("aclnnMm_TransData_TransData", us, category=category)
                    run.launch("aclnnMm_MatMul", 100, category=category)
            if waits:
                run.wait()
            else:
                run.rest(300)
    return run


def test_conversions_are_found_with_their_operators() -> None:
    (row,) = found(RULE, program(50).trace())
    assert row.title == "Converting tensors between formats takes 33.1 % of the time"
    assert "40 kernels" in row.explanation
    assert "most in aten::mm" in row.explanation


def test_where_nothing_waits_for_them_they_are_a_note() -> None:
    (row,) = found(RULE, program(20, waits=False).trace())
    assert (row.severity, row.saving_ns) == ("note", None)
    assert row.title == "40 kernels only convert formats: 16.7 % of the device's work"


def test_a_few_are_in_every_model() -> None:
    assert found(RULE, program(1).trace()) == []


def test_another_vendors_kernels_have_other_names() -> None:
    assert found(RULE, program(50, category="kernel").trace()) == []
