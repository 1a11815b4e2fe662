"""HTTP of views that read several traces."""

from __future__ import annotations

from pathlib import Path

from werkzeug.test import Client

from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.readers import READERS
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage.store import Store
from tests.server.test_routes import BASE, problem
from tests.support import trace_files


def test_all_ranks_whichever_is_chosen(tmp_path: Path) -> None:
    """Rank 0 lacks the latest span: that is a row with its problem, not an error."""
    for rank, span in ((0, 1), (1, 1), (1, 2)):
        trace_files.trace(tmp_path / "r" / f"host_{rank}.{span}.pt.trace.json", rank=rank)
    scan = Scanner(str(tmp_path), READERS, interval_s=0)
    own = Client(Routes(scan, Store(jobs=0, cache_dir=tmp_path / "cache")))
    for query_string in ({}, {"rank": "0", "span": "2"}, {"rank": "7", "span": "2"}):
        answer = own.get(BASE + "distributed", query_string=query_string)
        assert answer.status_code == 200
        problems = {row["rank"]: row["problem"] for row in answer.json["rows"]}
        assert problems == {0: "It has no such span.", 1: None}
    problem(own.get(BASE + "distributed?span=3"), 404, "unknown_span")
    problem(own.get(BASE + "distributed?run=x"), 404, "unknown_run")
    scan.close()
