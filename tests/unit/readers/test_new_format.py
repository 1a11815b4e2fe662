"""A new format is one ``Reader``: this one, of CSV files, changes nothing else in the package."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import readers
from tb_privateuse1.cli import main
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.formats import DistributedInfo, Signs
from tb_privateuse1.export import formats as export
from tb_privateuse1.export.time_window import Window
from tb_privateuse1.readers import READERS, Reader
from tb_privateuse1.readers.decompress import read_bytes
from tb_privateuse1.readers.raw import Flows, Group, Progress, Raw
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.file_checkpoints import Checkpoints
from tb_privateuse1.trace.model import Threads
from tests.support import trace_files

HEADER = b"kernel,start_us,duration_us,stream"
TEXT = HEADER + b"\ngemm,10,5,7\nsoftmax,20,2,7\ngemm,15,4,9\n"


def rows_of(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(read_bytes(path).decode())))


def sniff(head: bytes) -> Signs:
    return Signs(head.startswith(HEADER), DistributedInfo(), sure=len(head) >= len(HEADER))


def read(path: str, progress: Progress | None = None) -> Raw:
    rows = rows_of(path)
    names = sorted({text for row in rows for text in (row["kernel"], row["stream"])})
    streams = sorted({row["stream"] for row in rows})
    start, length, stream = (
        np.array([int(row[key]) for row in rows]) for key in ("start_us", "duration_us", "stream")
    )
    group = Group(
        name=np.array([names.index(row["kernel"]) for row in rows], np.int32),
        start_ns=start * 1000,
        end_ns=(start + length) * 1000,
        thread=np.array([streams.index(row["stream"]) for row in rows], np.int32),
        event=np.arange(len(rows), dtype=np.int32),
        ids={"device": np.zeros(len(rows), np.int64), "stream": stream},
    )
    tid = np.array([names.index(text) for text in streams], np.int32)
    threads = Threads(pid=tid, tid=tid, name=np.full(len(tid), -1, np.int32))
    empty = group.take(slice(0))
    return Raw(0, tuple(names), threads, {"kernel": group}, empty, Flows.empty(), {})


def record(path: str, checkpoints: Checkpoints, event: int) -> Mapping[str, Any]:
    return rows_of(path)[event]


CSV = Reader(name="csv", suffixes=(".csv",), sniff=sniff, read=read, record=record)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "READERS", (*READERS, CSV))


@pytest.fixture(params=["rank5.100.csv", "rank5.100.csv.gz"])
def log(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "log" / "kernels" / request.param
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(TEXT) if path.suffix == ".gz" else TEXT)
    (path.parent / "other.csv").write_bytes(b"name,age\nAda,36\n")
    trace_files.trace(tmp_path / "log" / "json" / "host_1.1.pt.trace.json", rank=1)
    return tmp_path / "log"


def test_discovery_lists_it_beside_chrome_traces(log: Path) -> None:
    found = catalog.scan(str(log), readers.READERS).runs.runs
    assert [run.run for run in found] == ["json", "kernels"]
    (worker,) = found[1].workers
    assert (worker.worker, worker.rank, worker.spans[0].label) == ("rank5", 5, "100")


def test_views_show_it(log: Path) -> None:
    opened = tbp.open(log)
    overview = opened.overview(run="kernels")
    assert overview.provenance.timeline == "measured"
    assert {row.name for row in opened.kernels(run="kernels").rows} == {"gemm", "softmax"}
    assert opened.trace("kernels").meta.reader == "csv"
    assert opened.trace("json").meta.reader == "chrome"
    assert opened.overview(run="json").provenance.timeline == "none"


def test_an_event_is_read_again_by_the_same_reader(log: Path) -> None:
    opened = tbp.open(log)
    result = opened.event("kernels", 1, run="kernels")
    assert msgspec.json.decode(result.record or "") == {
        "kernel": "gemm", "start_us": "15", "duration_us": "4", "stream": "9",
    }  # fmt: skip


def test_the_command_line_reads_it(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "kernels", str(log), "--run", "kernels"]) == 0
    assert "softmax" in capsys.readouterr().out


def test_the_content_counts_before_the_name(tmp_path: Path) -> None:
    path = tmp_path / "kernels.json"
    path.write_bytes(TEXT)
    assert readers.choose_reader(str(path)) is CSV
    path.write_bytes(b"")
    assert readers.choose_reader(str(path)).name == "chrome"
    path = tmp_path / "empty.csv"
    path.write_bytes(b"")
    assert readers.choose_reader(str(path)) is CSV
    assert readers.choose_reader(str(tmp_path / "missing")).name == "chrome"


def test_an_export_that_copies_its_events_says_that_it_cannot(log: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out.json")
    opened = tbp.open(log)
    files = catalog.scan(str(log), readers.READERS).find("kernels")
    with pytest.raises(TraceError, match="csv") as caught:
        export.save("chrome", out, opened.trace("kernels"), files)
    assert caught.value.code == "not_chrome"
    export.save("perfetto", out, opened.trace("kernels"), files)
    assert export.filename("perfetto", files) == "rank5.100.perfetto-trace.gz"
    part = Window(1000, None)
    assert export.filename("csv", files, part) == "rank5.100.1000-ns.csv.zip"
