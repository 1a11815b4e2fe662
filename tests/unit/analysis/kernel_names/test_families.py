"""Kernels' names of many libraries, and the name and family that people read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.analysis.kernel_names import display_name, read_name
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS

TABLE = Path(__file__).with_name("names.tsv")
ROWS = [line.split("\t") for line in TABLE.read_text().splitlines()]
"""File of the grammar, display name, family and full name."""


@pytest.mark.parametrize(("grammar", "display", "family", "full"), ROWS)
def test_display_name_and_family(grammar: str, display: str, family: str, full: str) -> None:
    found = read_name(full)
    assert (found.display, found.family) == (display, family), grammar


@pytest.mark.parametrize(
    ("full", "display"),
    [
        ("at::cuda::(anonymous namespace)::spin_kernel(long)", "spin_kernel"),
        ("_ZN5aiter6kernelIDF16bLi256ELb1EEEvPT_PfS4_i", "kernel<bfloat16, 256, true>"),
        ("void app::work<float, 4>(float*)", "work<float, 4>"),
        ("pe_exe", "pe_exe"),
        ("void f<int(", "void f<int("),
        ("_Zwhatever", "_Zwhatever"),
        ("", ""),
    ],
)
def test_unknown_names_are_demangled_and_shortened(full: str, display: str) -> None:
    assert (read_name(full).display, read_name(full).family) == (display, None)


@pytest.mark.parametrize("operator", ["aten::mm", "aten::_foreach_mul_", "npu::add"])
def test_an_operator_keeps_its_name(operator: str) -> None:
    """Inferred kernels have the names of their operators."""
    assert display_name(operator) == operator


PIECES = st.sampled_from(
    [
        "void ",
        "at::",
        "kernel",
        "<",
        ">",
        "(",
        ")",
        "{lambda(",
        ", ",
        "float",
        "_ZN",
        "3abc",
        "I",
        "E",
    ]
)


@given(st.lists(PIECES, max_size=20).map("".join) | st.text(max_size=60))
def test_any_name_has_a_display_name(full: str) -> None:
    found = read_name(full)
    assert found.display or not full.strip()
    assert found.family is None or found.family in KINDS
