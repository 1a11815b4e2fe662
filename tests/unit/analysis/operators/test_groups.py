"""Columns that operators are grouped by, the search in them, and names of forward operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_privateuse1.analysis.operators import groups
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import NONE
from tests.support.make import frame, op, trace

SMALL: dict[str, Any] = {"Input Dims": [[2, 3]]}
LARGE: dict[str, Any] = {"Input Dims": [[4, 5]]}
MADE = trace(
    frame("train.py(1): main", 0, 100), frame("nn.Module: Linear_0", 5, 50),
    op("aten::mm", 10, 20, **SMALL), op("aten::mm", 60, 70, **LARGE),
    op("aten::add", 80, 90, **LARGE),
)  # fmt: skip
ROWS = np.arange(3)


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("name", [0, 0, 1]),
        ("shapes", [0, 1, 2]),
        ("stack", [0, 1, 2]),
        ("module", [0, 1, 2]),
        ("category", [0, 0, 1]),
    ],
)
def test_rows_of_a_group(group: groups.Group, expected: list[int]) -> None:
    """Rows with equal columns are one group."""
    _, member = group_rows(*groups.group_columns(MADE, ROWS, group))
    numbers = {value: i for i, value in enumerate(dict.fromkeys(member.tolist()))}
    assert [numbers[value] for value in member.tolist()] == expected


def test_recorded_stacks_of_one_line_are_one_group() -> None:
    """Of stacks in arguments, too, neither an object's address nor a module's number counts."""
    stacks = (
        "<built-in method zero_ of Tensor object at 0x7f1>;nn.Module: Linear_0;train.py(1): main",
        "<built-in method zero_ of Tensor object at 0x7f2>;nn.Module: Linear_1;train.py(1): main",
        "<built-in method zero_ of Tensor object at 0x7f2>;nn.Module: Linear_1;train.py(2): main",
    )
    args: list[dict[str, Any]] = [{"Call stack": stack} for stack in stacks]
    calls = (op("a", 10 * i, 10 * i + 5, **one) for i, one in enumerate(args))
    _, member = group_rows(*groups.group_columns(trace(*calls), ROWS, "stack"))
    assert member.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("group", "text", "expected"),
    [
        ("name", "MM", [True, True, False]),
        ("name", "gemm", [True, True, False]),
        ("name", "linear_0", [False, False, False]),
        ("module", "linear", [True, False, False]),
        ("shapes", "[4", [False, True, True]),
        ("stack", "train.py", [True, True, True]),
        ("category", "elementwise", [False, False, True]),
    ],
)
def test_a_search_reads_the_groups_columns(
    group: groups.Group, text: str, expected: list[bool]
) -> None:
    """A search ignores case, and reads name, kind and the columns of the group."""
    assert groups.matching_rows(MADE, ROWS, group, text).tolist() == expected


def test_the_stack_is_innermost_first() -> None:
    """Frames are joined by ``;``; without a row there is no stack."""
    assert groups.python_stack(MADE, 0) == "nn.Module: Linear_0;train.py(1): main"
    assert groups.python_stack(MADE, 1) == "train.py(1): main"
    assert groups.python_stack(MADE, NONE) is None


def test_modules_of_operators() -> None:
    """The innermost module is named; the title has no prefix."""
    inner = groups.innermost_modules(MADE)
    assert [MADE.text(name) if name >= 0 else None for name in inner.tolist()] == [
        "nn.Module: Linear_0", None, None,
    ]  # fmt: skip
    assert groups.module_title("nn.Module: Linear_0") == "Linear_0"
    assert groups.module_title("") is None


def test_forward_names_of_a_group() -> None:
    """A group of members with one forward name has it; with several or none it has ``NONE``."""
    forward = np.array([0, 1, 0, 2, NONE], np.int32)
    member = np.array([0, 0, 1, 1, 2])
    names = groups.forward_names(MADE, forward, member, 3)
    assert names.tolist() == [MADE.ops.name[0], NONE, NONE]
