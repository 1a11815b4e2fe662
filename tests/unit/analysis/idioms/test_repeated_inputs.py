"""Equal calls on the same tensors, by the storages of an execution trace."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.idioms.repeated_inputs import repeated_inputs
from tb_privateuse1.trace.model import READ, RETURNED, WRITTEN, Tensors
from tests.support.make import op, trace
from tests.support.sized import FP32, full, recorded

Use = tuple[int, int, int]
"""The place of an operator, how it uses a storage, and the storage."""
WEIGHT, FIRST, SECOND = 3, 10, 11
MADE: Use = (0, RETURNED, WEIGHT)
CASTS: tuple[Use, ...] = (
    (1, READ, WEIGHT), (1, RETURNED, FIRST), (3, READ, WEIGHT), (3, RETURNED, SECOND),
)  # fmt: skip


def repeats(*uses: Use) -> list[int]:
    """The places of repeated calls: two equal casts, with another operator before and between."""
    cast = recorded(full(64, 64), "6", "False", "False", "")
    other = recorded(full(64, 64, dtype=FP32), "1")
    made = trace(
        op("aten::mul", 0, 5, id=1, **other), op("aten::to", 10, 15, id=2, **cast),
        op("aten::add_", 20, 25, id=3, **other), op("aten::to", 30, 35, id=4, **cast),
    )  # fmt: skip
    column = np.array(uses, np.int64)
    tensors = Tensors(
        op=column[:, 0].astype(np.int32),
        access=column[:, 1].astype(np.int8),
        argument=np.zeros(len(uses), np.int32),
        storage=column[:, 2].astype(np.int32),
        offset=np.zeros(len(uses), np.int64),
        elements=np.full(len(uses), 4096, np.int64),
        item_bytes=np.full(len(uses), 4, np.int64),
        device_name=np.full(len(uses), made.strings.index("aten::to"), np.int32)
        if uses[0] != MADE
        else np.full(len(uses), -1, np.int32),
    )
    return repeated_inputs(replace(made, tensors=tensors)).tolist()


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        ((MADE, *CASTS), [3]),
        (CASTS, [3]),  # memory of a device, which nobody fills unseen
        ((MADE, CASTS[0], CASTS[1], (2, WRITTEN, WEIGHT), *CASTS[2:]), []),
        ((MADE, CASTS[0], CASTS[1], (3, READ, 4), CASTS[3]), []),
        ((MADE, CASTS[0], CASTS[1], (2, WRITTEN, FIRST), *CASTS[2:]), []),
    ],
)  # fmt: skip
def test_the_second_cast_of_an_unchanged_tensor(uses: tuple[Use, ...], expected: list[int]) -> None:
    assert repeats(*uses) == expected


def test_nothing_is_known_without_tensors() -> None:
    assert repeated_inputs(trace(op("aten::to", 0, 5, id=1))).tolist() == []
