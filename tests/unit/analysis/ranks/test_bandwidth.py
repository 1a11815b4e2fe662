"""Sums of collectives over ranks, and their bandwidth, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.ranks import bandwidth
from tb_privateuse1.analysis.ranks.bandwidth import CollectiveRow
from tb_privateuse1.trace.model import Trace
from tests.unit.analysis.ranks.test_collectives import matched, one


def rows(*ranks: Trace, most: int = 10) -> tuple[int, list[CollectiveRow]]:
    """Return the rows of some ranks, which have the numbers 4, 5, …"""
    calls = matched(*ranks)
    numbers = range(4, 4 + len(ranks))
    return bandwidth.collective_rows(calls, np.ones(len(calls.rank), np.bool_), numbers, most)


def test_transfer_and_waiting() -> None:
    """The shorter call is the transfer, the rest of the longer one is waiting."""
    count, (row,) = rows(one(10, 20), one(30, 20))
    assert count == 1
    assert (row.calls, row.ranks, row.matched, row.total_ns) == (4, 2, 4, 80_000)
    assert (row.mean_ns, row.transfer_ns, row.synchronizing_ns) == (20_000, 15_000, 5_000)
    assert (row.longest_rank, row.longest_ns, row.longest_start_ns) == (5, 30_000, 10_000)


def test_bandwidth_of_an_all_reduce() -> None:
    """4000 bytes in 10 µs; of two ranks the bus factor is 1."""
    _, (row,) = rows(one(10), one(40))
    assert row.bytes == 4000
    assert row.algorithm_bytes_per_s == pytest.approx(4e8)
    assert row.bus_bytes_per_s == pytest.approx(4e8)


@pytest.mark.parametrize(
    ("kind", "size", "factor"),
    [("allreduce", 4, 1.5), ("all_gather", 4, 0.75), ("broadcast", 4, 1.0)],
)
def test_bus_factors(kind: str, size: int, factor: float) -> None:
    """The factors are those of nccl-tests."""
    _, (row,) = rows(one(10, **{"Collective name": kind, "Group size": size}))
    assert row.algorithm_bytes_per_s is not None
    assert row.bus_bytes_per_s == pytest.approx(row.algorithm_bytes_per_s * factor)


def test_an_unknown_kind_has_no_bandwidth() -> None:
    """Bytes of an unknown collective are not known."""
    _, (row,) = rows(one(10, **{"Collective name": "strange"}))
    assert (row.bytes, row.algorithm_bytes_per_s, row.bus_bytes_per_s) == (None, None, None)


def test_calls_without_a_match_have_no_transfer() -> None:
    """One rank alone gives no waits."""
    _, (row,) = rows(one(10))
    assert (row.matched, row.transfer_ns, row.synchronizing_ns) == (0, None, None)


def test_rows_with_most_time_are_first() -> None:
    """All rows are counted, and at most ``most`` are returned."""
    small = {"In msg nelems": 8, "Out msg nelems": 8}
    count, found = rows(one(50, **small), one(10), most=1)
    assert (count, len(found)) == (2, 1)
    assert found[0].total_ns == 50_000


def test_no_calls() -> None:
    """Without calls there are no rows."""
    assert rows(Trace()) == (0, [])
