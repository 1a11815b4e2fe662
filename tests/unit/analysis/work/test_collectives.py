"""Bytes of collectives on the bus, by kind and size of the group."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.analysis.work.collectives import bus_bytes, bus_factor, payload_bytes
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support import make


def collective(name: str, size: int | None, sent: int = 1000, received: int = 1000) -> Trace:
    args: dict[str, Any] = {
        "Collective name": name,
        "In msg nelems": sent,
        "Out msg nelems": received,
        "dtype": "Float",
    }
    if size is not None:
        args["Group size"] = size
    kernel = make.kernel("ncclDevKernel_Generic", 10, 20, correlation=1, **args)
    return make.trace(make.op("record_param_comms", 0, 9, id=1), make.launch(1, 2, 1), kernel)


@pytest.mark.parametrize(
    ("name", "sent", "received", "payload", "bus"),
    [
        ("allreduce", 1000, 1000, 4000, 6000),
        ("_allgather_base", 250, 1000, 4000, 3000),
        ("_reduce_scatter_base", 1000, 250, 4000, 3000),
        ("all_to_all", 1000, 1000, 4000, 3000),
        ("broadcast", 1000, 1000, 4000, 4000),
        ("reduce", 1000, 1000, 4000, 4000),
        ("send", 1000, 1000, 4000, 4000),
        ("gather", 250, 1000, 4000, MISSING),
    ],
)
def test_bytes_of_four_ranks(name: str, sent: int, received: int, payload: int, bus: int) -> None:
    trace = collective(name, 4, sent, received)
    assert payload_bytes(trace).tolist() == [payload]
    assert bus_bytes(trace).tolist() == [bus]


@pytest.mark.parametrize("size", [None, 0, -1])
def test_without_the_size_of_the_group_only_kinds_of_one_way_are_known(size: int | None) -> None:
    assert bus_bytes(collective("allreduce", size)).tolist() == [MISSING]
    assert bus_bytes(collective("broadcast", size)).tolist() == [4000]


def test_a_rank_alone_uses_no_bus() -> None:
    for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
        assert bus_factor(kind, 1) == 0
    assert bus_factor("all_reduce", 2) == 1
