"""The clocks of some ranks: shifts against one of them, and who cannot be compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from werkzeug.test import Client

from tb_privateuse1.analysis.ranks import collectives
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.readers import READERS
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.views.lookups.clock import Clock, clock
from tb_privateuse1.views.reduced_traces import Rank
from tests.server.test_routes import BASE, problem
from tests.support import trace_files
from tests.support.make import kernel, step, trace

TALK = {"Collective name": "allreduce", "Process Group Name": "0", "Group size": 8}


def rank(number: int, late_us: float, *, talks: bool = True) -> Rank:
    """A rank whose recording began so much earlier: all its times are later."""
    calls = [
        kernel("ncclDevKernel_AllReduce", 50 * i + late_us, 50 * i + 20 + late_us, **TALK)
        for i in range(8)
        if talks
    ]
    return Rank(number, f"w{number}", collectives.reduce_trace(trace(step(0, 0, 1000), *calls)))


def told(found: Clock) -> list[tuple[int, int | None, int | None]]:
    return [(row.rank, row.shift_ns, row.residual_ns) for row in found.rows]


def test_shifts_are_against_the_reference() -> None:
    several = (rank(0, 0), rank(3, 100), rank(5, 30))
    assert told(clock(several)) == [(0, 0, 0), (3, -100_000, 0), (5, -30_000, 0)]
    assert told(clock(several, to=3)) == [(0, 100_000, 0), (3, 0, 0), (5, 70_000, 0)]
    assert told(clock(several, only="0,5", to=5)) == [(0, 30_000, 0), (5, 0, 0)]


def test_who_is_not_tied_is_not_aligned() -> None:
    missing = Rank(9, "w9", None, Finding("unknown_span", "It has no such span."))
    found = clock((rank(0, 0), rank(1, 10), rank(2, 0, talks=False), missing))
    assert told(found) == [(0, 0, 0), (1, -10_000, 0), (2, None, None), (9, None, None)]
    assert [row.problem for row in found.rows] == [None, None, None, "It has no such span."]
    assert [row.ties for row in found.rows] == [8, 8, 0, 0]
    alone = clock((rank(0, 0), rank(1, 10), rank(2, 0, talks=False)), to=2)
    assert told(alone) == [(0, None, None), (1, None, None), (2, 0, None)]
    assert clock(()).rows == ()


def test_only_the_chosen_are_read(tmp_path: Path) -> None:
    for number in range(4):
        trace_files.trace(tmp_path / "r" / f"host_{number}.1.pt.trace.json", rank=number)
    (tmp_path / "r" / "host_3.1.pt.trace.json").write_text("no trace")
    scan = Scanner(str(tmp_path), READERS, interval_s=0)
    own = Client(Routes(scan, Store(jobs=0, cache_dir=tmp_path / "cache")))
    answer = own.get(BASE + "clock?run=r&only=0,2&to=2")
    assert answer.status_code == 200
    assert [row["rank"] for row in answer.json["rows"]] == [0, 2]
    assert answer.json["reference"] == 2
    assert len(list((tmp_path / "cache").glob("*.arrow"))) == 2
    assert "problem" in own.get(BASE + "clock?only=3").json["rows"][0]
    problem(own.get(BASE + "clock?only=x"), 400, "bad_option")
    scan.close()
    with pytest.raises(TraceError, match="ranks with commas"):
        clock((), only="-1")
