"""Groups of device activities, numbers in strings, and matrix units."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.kernels import groups
from tb_privateuse1.trace import kernel_context
from tb_privateuse1.trace.model import NONE
from tests.support.make import kernel, launch, op, trace

CONFIG: dict[str, Any] = {"grid": [2, 1, 1], "block": [64, 1, 1], "registers per thread": 16}
MADE = trace(
    op("aten::mm", 0, 10), launch(1, 2, 1), launch(3, 4, 2),
    op("aten::add", 20, 30), launch(21, 22, 3),
    kernel("k", 5, 6, 1), kernel("k", 7, 8, 2, **CONFIG), kernel("k", 25, 26, 3),
    kernel("k", 40, 41), kernel("k", 42, 43, category="gpu_memcpy"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("group", "expected"),
    [("name", [0, 0, 0, 0, 1]), ("operator", [0, 0, 1, 2, 3]), ("launch", [0, 1, 2, 3, 4])],
)
def test_activities_of_a_group(group: groups.Group, expected: list[int]) -> None:
    """Kinds are separate, and by group launching operators and configurations, too."""
    _, member = groups.group_kernels(MADE, MADE.kernels, group)
    numbers = {value: i for i, value in enumerate(dict.fromkeys(member.tolist()))}
    assert [numbers[value] for value in member.tolist()] == expected


def test_names_of_launching_operators() -> None:
    """An activity without an operator has ``NONE``."""
    names = kernel_context.operator_names(MADE, MADE.kernels)
    texts = [MADE.text(name) if name != NONE else None for name in names.tolist()]
    assert texts == ["aten::mm", "aten::mm", "aten::add", None, None]
    alone = trace(kernel("k", 0, 1))
    assert kernel_context.operator_names(alone, alone.kernels).tolist() == [NONE]


def test_numbers_in_strings() -> None:
    """Texts other than numbers are nan, as is ``NONE``."""
    made = trace(op("1.5", 0, 1), op("x", 2, 3))
    found = groups.parse_numbers(made, np.append(made.ops.name, NONE).astype(np.int32)).tolist()
    assert found[0] == 1.5
    assert math.isnan(found[1])
    assert math.isnan(found[2])


def test_matrix_units() -> None:
    """Kernels on the unit are known by name, candidates by their operator."""
    assert groups.could_use_matrix_unit(MADE, MADE.kernels).tolist() == [True, True] + [False] * 3
    plain = replace(MADE.vendor, matrix_names=None)
    assert groups.on_matrix_unit(replace(MADE, vendor=plain), MADE.kernels) is None
    named = replace(MADE.vendor, matrix_names=re.compile("^k$"))
    found = groups.on_matrix_unit(replace(MADE, vendor=named), MADE.kernels)
    assert found is not None
    assert found.tolist() == [True] * 5
