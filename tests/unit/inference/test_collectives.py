"""Kind, bytes and process group of each communication, whoever tells them."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.trace.model import MISSING, Trace
from tests.support.make import annotation, kernel, launch, op, span, trace

ARGUMENTS = {
    "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 100, "Out msg nelems": 100,
    "Group size": 8, "Process Group Name": "3", "Process Group Description": "tp",
}  # fmt: skip
UNKNOWN = int(MISSING)


def told(t: Trace) -> list[tuple[str, int, str, str, int]]:
    """Kind, bytes, group, purpose and group size of each."""
    c = t.collectives
    columns = zip(c.kind, c.bytes, c.group, c.purpose, c.group_size, strict=True)
    return [(t.text(k), int(b), t.text(g), t.text(p), int(s)) for k, b, g, p, s in columns]


def launched(name: str, *around: dict[str, Any], **args: Any) -> Trace:
    return trace(*around, launch(50, 51, 1), kernel(name, 60, 90, 1, **args))


def test_by_the_kernels_arguments() -> None:
    t = launched("some_name", op("record_param_comms", 40, 55), **ARGUMENTS)
    assert told(t) == [("all_reduce", 400, "3", "tp", 8)]
    assert (t.collectives.kernel.tolist(), t.collectives.op.tolist()) == ([0], [-1])


def test_by_the_operators_arguments() -> None:
    wanted = ARGUMENTS | {"Collective name": "_allgather_base", "Out msg nelems": 800}
    t = launched("ncclDevKernel_Generic", op("record_param_comms", 40, 55, **wanted))
    assert told(t) == [("all_gather", 3200, "3", "tp", 8)]


def test_by_the_annotation_in_the_operator() -> None:
    shapes = {"Input Dims": [[10, 20], [5], []], "Input type": ["c10::Half", "c10::Half", "Scalar"]}
    t = launched(
        "ncclKernel_SendRecv", op("c10d::alltoall_", 30, 58), op("record_param_comms", 35, 57),
        annotation("nccl:all_to_all", 40, 56, **shapes),
    )  # fmt: skip
    assert told(t) == [("all_to_all", 2 * 205, "", "", UNKNOWN)]


def test_what_all_get_is_not_what_one_gives() -> None:
    """An annotation has the input of an all-gather; its call has the output as well."""
    mine = {"Input Dims": [[16]], "Input type": ["float"]}
    both = {"Input Dims": [[128], [16], []], "Input type": ["float", "float", ""]}
    around = op("record_param_comms", 35, 57), annotation("nccl:_all_gather_base", 40, 56, **mine)
    alone = launched("ncclKernel", *around)
    assert told(alone) == [("all_gather", UNKNOWN, "", "", UNKNOWN)]
    t = launched("ncclKernel", op("c10d::_allgather_base_", 30, 58, **both), *around)
    assert told(t) == [("all_gather", 512, "", "", UNKNOWN)]


def test_by_the_kernels_name_alone() -> None:
    t = trace(kernel("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", 0, 5), kernel("gemm", 6, 7))
    assert told(t) == [("reduce_scatter", UNKNOWN, "", "", UNKNOWN)]
    assert told(trace(kernel("ncclDevKernel_Generic", 0, 5)))[0][0] == "other"


@pytest.mark.parametrize("library", ["gloo", "mpi"])
def test_a_library_communicates_on_the_host(library: str) -> None:
    shapes = {"Input Dims": [[35594]], "Input type": ["float"]}
    name = f"{library}:all_reduce"
    t = trace(op("aten::mm", 0, 5), annotation(name, 10, 30, thread=2, **shapes))
    assert told(t) == [("all_reduce", 142376, "", "", UNKNOWN)]
    assert t.collectives.kernel.tolist() == [-1]
    assert t.text(t.ops.name[t.collectives.op[0]]) == name


def test_in_order_of_time_and_nothing_else() -> None:
    t = trace(
        annotation("gloo:broadcast", 70, 80, thread=2), launch(1, 2, 1), op("aten::mm", 0, 5),
        kernel("ncclAllReduce", 60, 90, 1), kernel("gemm", 10, 20, 1),
        span("gpu_user_annotation", "nccl:all_reduce", 60, 90),
    )  # fmt: skip
    assert [kind for kind, *_ in told(t)] == ["all_reduce", "broadcast"]
    assert told(trace(op("aten::mm", 0, 5))) == []


@pytest.mark.parametrize("odd", [{"In msg nelems": "x"}, {"dtype": "Strange"}, {"dtype": 7}])
def test_odd_arguments_are_unknown_bytes(odd: dict[str, Any]) -> None:
    gone = dict.fromkeys(("In msg nelems", "Out msg nelems"), "x") if "dtype" not in odd else odd
    t = launched("ncclKernel", **(ARGUMENTS | gone))
    assert told(t) == [("all_reduce", UNKNOWN, "3", "tp", 8)]


@pytest.mark.parametrize("elements", [1 << 61, (1 << 62) // 4, -5, 1e30, "9" * 5000])
def test_a_number_of_elements_that_no_tensor_has_is_unknown_or_exact(elements: object) -> None:
    odd = {"In msg nelems": elements, "Out msg nelems": elements, "dtype": "Float"}
    ((_, size, *_),) = told(launched("ncclKernel", **(ARGUMENTS | odd)))
    assert size == (1 << 62 if elements == (1 << 62) // 4 else UNKNOWN)


@pytest.mark.parametrize("types", [7, True, "float", {"float": 1}, [7], [["float"]], [None], []])
def test_odd_types_cost_the_bytes_and_nothing_else(types: object) -> None:
    odd = {"Input Dims": [[3]], "Input type": types}
    t = trace(op("aten::mm", 0, 5), annotation("gloo:all_reduce", 10, 30, **odd))
    assert told(t) == [("all_reduce", UNKNOWN, "", "", UNKNOWN)]
    assert len(t.ops) == 2


@pytest.mark.parametrize(
    "dims", [7, True, "12", {"a": [3]}, [3], [[True]], [[-3]], [["3"]], [[2**40, 2**40]],
             [[2**62], [2**62]], [[1e300]], [[2**64]]],
)  # fmt: skip
def test_odd_sizes_cost_the_bytes_and_nothing_else(dims: object) -> None:
    odd = {"Input Dims": dims, "Input type": ["float", "float"]}
    t = trace(op("aten::mm", 0, 5), annotation("gloo:all_reduce", 10, 30, **odd))
    assert told(t) == [("all_reduce", UNKNOWN, "", "", UNKNOWN)]
    assert len(t.ops) == 2
