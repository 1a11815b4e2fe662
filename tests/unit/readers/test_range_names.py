"""Names of ranges as torch writes them."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.readers.range_names import RangeNames
from tb_privateuse1.readers.sqlite.columns import Strings
from tb_privateuse1.trace.model import NONE


@pytest.mark.parametrize(
    ("text", "name", "sequence", "shapes", "is_operator"),
    [
        ("aten::mm", "aten::mm", NONE, None, True),
        ("aten::mm, seq = 7", "aten::mm", 7, None, True),
        ("aten::mm, op_id = 12", "aten::mm", NONE, None, True),
        ("aten::add, seq = 0, op_id = 3, sizes = [[2, 3], [], []]", "aten::add", 0,
         "[[2,3],[],[]]", True),
        ("AddmmBackward0, seq = 5, op_id = 9, sizes = [[2]], input_op_ids = [(3,0), (4,1)]",
         "AddmmBackward0", 5, "[[2]]", True),
        ("autograd::engine::evaluate_function: MmBackward0, op_id = 2",
         "autograd::engine::evaluate_function: MmBackward0", NONE, None, True),
        ("Optimizer.step#SGD.step, op_id = 4", "Optimizer.step#SGD.step", NONE, None, False),
        ("lr = 3, seq = x", "lr = 3, seq = x", NONE, None, False),
        ("load, sizes = [[a]]", "load, sizes = [[a]]", NONE, None, False),
        ("load, sizes = [[1]", "load", NONE, None, False),
        ("step 3", "step 3", NONE, None, False),
        ("a, b, seq = 3", "a, b", 3, None, True),
    ],
)  # fmt: skip
def test_a_name_and_its_arguments(
    text: str, name: str, sequence: int, shapes: str | None, is_operator: bool
) -> None:
    strings = Strings()
    names = RangeNames(strings)
    found = names.columns(np.array([names.number(text), NONE]))
    assert strings.all[found[0][0]] == name
    assert found[1][0] == sequence
    assert (strings.all[found[2][0]] if found[2][0] >= 0 else None) == shapes
    assert found[3].tolist() == [is_operator, False]
    assert strings.all[found[0][1]] == ""
