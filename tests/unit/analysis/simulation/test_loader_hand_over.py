"""The hand-over of batches from workers, as a recording without workers tells it (in µs)."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.simulation.assumptions import (
    hand_over_ns,
    hand_overs,
    loading_rows,
)
from tests.support.make import memory, op, trace

NAME = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@pytest.mark.parametrize(("kept", "longer"), [(0, 0), (1, 0), (3, 2)])
def test_each_tensor_of_a_batch_is_handed_over(kept: int, longer: int) -> None:
    """A batch has one tensor at least; what is freed within the loader is none."""
    made = [memory(10 + i, 64, 0, 0) for i in range(kept + 2)]
    freed = [memory(50 + i, -64, 0, 0) for i in range(2)]
    loaded = trace(op(NAME, 0, 100), op("aten::mm", 200, 10), *made, *freed)
    alone = trace(op(NAME, 0, 100))
    (took,), (least,) = (hand_over_ns(one, loading_rows(one)) for one in (loaded, alone))
    assert took - least == longer * 130_000


def test_it_takes_no_longer_than_the_batch_was_made() -> None:
    """Workers of another recording hand over already."""
    many = NAME.replace("_SingleProcess", "_MultiProcessing")
    found = hand_overs(trace(op(NAME, 0, 100), op(NAME, 200, 5000), op(many, 6000, 900)))
    assert (found.end_ns - found.start_ns).tolist() == [100_000, 780_000]
