"""FLOPs and bytes of embedding lookups and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.models import embedding_tables
from tb_privateuse1.analysis.work.operator_work import operator_work
from tests.support import make
from tests.unit.analysis.work.calls import call, moved, tensor, texts, work

TABLES, BATCH, WIDTH, LOOKUPS, ROWS = 2, 8, 24, 100, 1000
NODE = "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>"
NAME = "fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function"
ELEMENTS = LOOKUPS * WIDTH // TABLES
INDEX_BYTES = 8 * (LOOKUPS + TABLES * BATCH + 1)
WEIGHTS = tensor(ROWS * WIDTH // TABLES, dtype="c10::Half")


def middle(total: Any, indices: int = LOOKUPS, pooling: int = 0) -> list[Any]:
    """Return the arguments from the offsets of tables to the way of pooling."""
    return [
        tensor(TABLES, dtype="int"),
        tensor(TABLES, dtype="long"),
        tensor(TABLES + 1, dtype="int"),
        *total,
        tensor(TABLES + 1, dtype="long"),
        13,
        tensor(indices, dtype="long"),
        tensor(TABLES * BATCH + 1, dtype="long"),
        pooling,
    ]


def lookup(*total: Any, pooling: int = 0, indices: int = LOOKUPS) -> list[Any]:
    empty = tensor(0, dtype="c10::Half")
    return [tensor(0), WEIGHTS, empty, tensor(0, 0), *middle(total, indices, pooling)]


def test_a_lookup_adds_the_rows_of_each_bag() -> None:
    found = work(NAME, *lookup(WIDTH, 16))
    assert found is not None
    assert found.flops == ELEMENTS
    assert found.read_bytes == INDEX_BYTES + 2 * ELEMENTS
    assert found.written_bytes is None  # the type of the result is an argument of each version
    assert found.at_most


def test_no_more_than_all_rows_are_read() -> None:
    read, _ = moved(NAME, *lookup(WIDTH, 16, indices=10 * ROWS))
    assert read == 8 * (10 * ROWS + TABLES * BATCH + 1) + 2 * ROWS * WIDTH // TABLES


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        (NAME, lookup("", "")),
        (NAME, lookup(WIDTH, 16, pooling=2)),
        (NAME.replace("_function", "_vbe_function"), lookup(WIDTH, 16)),
        (NAME, lookup(WIDTH, 16)[:-4]),
    ],
)
def test_what_a_lookup_may_lack(name: str, inputs: list[Any]) -> None:
    assert work(name, *inputs) is None


def test_the_gradient_reads_and_writes_the_rows() -> None:
    name = "fbgemm::split_embedding_backward_codegen_rowwise_adagrad_cpu"
    grad = tensor(BATCH, WIDTH)
    found = work(name, grad, WEIGHTS, *middle([16]))
    assert found is not None
    assert found.flops == ELEMENTS * (1 + embedding_tables.STEP)
    assert found.read_bytes == INDEX_BYTES + 4 * BATCH * WIDTH + 2 * ELEMENTS
    assert found.written_bytes == 2 * ELEMENTS


def test_the_gradient_of_the_weights_is_a_number_per_index() -> None:
    name = "fbgemm::split_embedding_codegen_grad_indice_weights_cpu"
    inputs: list[Any] = [tensor(BATCH, WIDTH), WEIGHTS, tensor(TABLES, dtype="long")]
    inputs += [tensor(TABLES + 1, dtype="int"), tensor(LOOKUPS, dtype="long")]
    inputs += [tensor(TABLES * BATCH + 1, dtype="long"), None]
    found = work(name, *inputs)
    assert found is not None
    assert (found.flops, found.written_bytes) == (2 * ELEMENTS, 4 * LOOKUPS)


def recording(between: int) -> Any:
    """Return a lookup without values, its gradient's node, and operators around the lookup."""
    args = texts(NAME, *lookup("", ""))
    node = texts(NODE, tensor(BATCH, WIDTH))
    around = ((0, 7), (20, 8), (40, 9))
    numbers = [make.op("aten::add", at, at + 1, **{"Sequence number": n}) for at, n in around]
    lookups = [make.op(NAME, 5 + i, 6 + i, **args) for i in range(between)]
    backward = {"Sequence number": 7, "Fwd thread id": 1}
    return make.trace(*numbers, *lookups, make.op(NODE, 50, 60, **backward, **node))


def test_a_node_belongs_to_the_lookup_between_two_sequence_numbers() -> None:
    found = operator_work(recording(1))
    rows = np.flatnonzero(found.flops > 0)
    assert sorted(found.flops[rows].tolist()) == [ELEMENTS, 8 * ELEMENTS]
    assert found.known[rows].all()
    assert 4 * BATCH * WIDTH in found.written_bytes[rows]  # the lookup, with the gradient's type


def test_of_two_lookups_none_is_certain() -> None:
    assert not (operator_work(recording(2)).flops > 0).any()


def test_a_node_alone_is_unknown() -> None:
    with pytest.raises(UnknownWork):
        embedding_tables.node(call(NODE, tensor(BATCH, WIDTH)))
