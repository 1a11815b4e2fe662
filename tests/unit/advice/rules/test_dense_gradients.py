"""Tables that are updated for a few rows, and tables that are read as a whole."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.rules.dense_gradients import RULE
from tests.support import make
from tests.support.autograd import ENGINE, TrainingProgram
from tests.support.program import found
from tests.support.sized import FP32, full, recorded, unshaped

BATCH, WIDTH, LAYER = 4096, 64, (1024, 1024)


SGD = ("aten::_fused_sgd_", "[]", "0", "0")
"""The optimizer's operator and the values behind its lists: no weight decay, no momentum."""


def program(
    rows: int, *, sparse: bool = False, fused: bool = True, update: tuple[str, ...] = SGD
) -> TrainingProgram:
    """A table and a layer: the optimizer's time is that of the bytes."""
    run = TrainingProgram()
    table = (rows, WIDTH)
    for _ in range(3):
        with run.step():
            run.reset()
            layers = run.forward(BATCH, *LAYER)
            run.backward(layers)
            node = {"Sequence number": 10**6, "Fwd thread id": 1}
            gradient, indices = full(BATCH, WIDTH, dtype=FP32), full(BATCH, dtype="long int")
            with run.around(f"{ENGINE}EmbeddingBackward0", **node):
                if sparse:
                    run.run("aten::embedding_sparse_backward", gradient, indices, str(rows))
                else:
                    inputs = recorded(gradient, indices, str(rows), "-1", "False")
                    us = max(2, rows * WIDTH * 4 // 10**6)
                    run.op("aten::embedding_dense_backward", 3, kernel=us, **inputs)
            if not sparse:
                run.accumulate(*table)
            shapes = [LAYER] if sparse else [table, LAYER]
            with run.range("Optimizer.step#SGD.step"):
                run.rest(1)
                for some in [shapes] if fused else [[shape] for shape in shapes]:
                    tensors = [full(*shape, dtype=FP32) for shape in some]
                    us = sum(3 * 4 * m * n // 10**6 for m, n in some)
                    inputs = recorded(tensors, tensors, *update[1:])
                    run.op(update[0], 5, kernel=us, **inputs)
            run.wait()
    return run


@pytest.mark.parametrize("fused", [True, False])
def test_a_large_table_and_a_batch_of_few_rows(fused: bool) -> None:
    before, after = program(10**6, fused=fused), program(10**6, sparse=True)
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.1)
    assert row.title.startswith("Whole tables of embeddings are updated for at most 0.41 % of")


def test_sparse_gradients_are_fine() -> None:
    assert found(RULE, program(10**6, sparse=True).trace()) == []


@pytest.mark.parametrize(
    "update",
    [
        ("aten::_fused_sgd_", "[]", "0", "0.9"),
        ("aten::_fused_sgd_", "[]", "0.01", "0"),
        ("aten::_fused_sgd_",),
        ("aten::_fused_adamw_",),
        ("aten::_foreach_lerp_", "0.1"),
    ],
)
def test_rows_that_move_without_a_gradient(update: tuple[str, ...]) -> None:
    """Momentum, moments and a weight decay change all rows, or their values are not recorded."""
    assert found(RULE, program(10**6, update=update).trace()) == []


@pytest.mark.parametrize("update", [("aten::_foreach_add_", "-0.1"), ("aten::_fused_adagrad_",)])
def test_other_optimizers_that_leave_rows_alone(update: tuple[str, ...]) -> None:
    assert len(found(RULE, program(10**6, update=update).trace())) == 1


def test_a_vocabulary_that_a_batch_nearly_covers() -> None:
    assert found(RULE, program(16_000).trace()) == []


def test_a_table_beside_a_large_model_costs_little() -> None:
    run = program(40_000)
    with run.step():
        run.backward(run.forward(BATCH, 4096, 4096, 4096))
        run.wait()
    for row in found(RULE, run.trace()):
        assert row.saving_share is not None
        assert row.saving_share < 0.2


def without_shapes(
    rows: int, *, remembered: bool = True, updates: tuple[str, ...] = ("add_",)
) -> TrainingProgram:
    """A lookup of 4096 rows, its gradient of the whole table, and what the two allocate."""
    run, table = TrainingProgram(), rows * WIDTH * 4

    def allocate(size: int) -> None:
        if remembered:
            run.events.append(make.memory(run.now, size, 10**9))

    for _ in range(3):
        with run.step():
            run.sequence += 1
            with run.around("aten::embedding", **{"Sequence number": run.sequence}):
                run.rest(1)
                allocate(BATCH * WIDTH * 4)
                run.rest(1)
            node = {"Sequence number": run.sequence, "Fwd thread id": 1}
            with (
                run.around(f"{ENGINE}EmbeddingBackward0", **node),
                run.around("aten::embedding_dense_backward"),
            ):
                run.rest(1)
                allocate(table)
                run.op("aten::zero_", 3, kernel=max(2, table // 10**6))
            with run.range("Optimizer.step#SGD.step"):
                run.rest(1)
                for update in updates:
                    run.op(f"aten::{update}", 3, kernel=2)
            run.wait()
    return run


def test_without_shapes_memory_tells_the_rows_in_use() -> None:
    (row,) = found(RULE, unshaped(without_shapes(10**6)))
    assert row.title.startswith("Whole tables of embeddings are updated for at most 0.41 % of")
    assert row.saving_ns == pytest.approx(3 * 256_000 * (1 - 8 * 0.0041), rel=0.1)
    assert "does not count" in row.how


@pytest.mark.parametrize(
    "run",
    [
        without_shapes(16_000),
        without_shapes(10**6, remembered=False),
        without_shapes(10**6, updates=("mul_", "add_")),
        without_shapes(10**6, updates=("_fused_sgd_",)),
    ],
    ids=["many rows in use", "no memory events", "momentum", "values that are not recorded"],
)
def test_without_shapes_tables_that_may_need_it_all(run: TrainingProgram) -> None:
    assert found(RULE, unshaped(run)) == []
