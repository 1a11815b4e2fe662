"""``ingest`` on the command line: traces are read ahead, and failures are listed."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from tb_privateuse1 import cli, views
from tb_privateuse1.cli import ingest
from tb_privateuse1.cli.progress import State
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage import disk_cache as disk
from tb_privateuse1.storage import part_groups
from tb_privateuse1.storage.engines import local
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.vendors.user_file import Vendors
from tests.support.trace_files import sidecar, trace

COMMAND = [sys.executable, "-m", "tb_privateuse1.cli", "ingest"]
EVENT = '{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1,"pid":1,"tid":1},'


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(folder))
    return folder


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Five traces: two ranks, one of them with a sidecar, and a worker with three spans."""
    folder = tmp_path / "log"
    for rank in (0, 3):
        trace(folder / "r1" / f"host_{rank}.1.pt.trace.json", rank=rank)
    sidecar(folder / "r1" / "host_3.1.kernel_event.json")
    for span in (1, 2, 3):
        trace(folder / "r2" / f"host_1.{span}.pt.trace.json.gz", rank=0)
    return folder


def outcome(capfd: pytest.CaptureFixture[str], code: int, *arguments: object) -> dict[str, Any]:
    """What ``--json`` prints, of a call that must exit so."""
    capfd.readouterr()
    assert cli.main(["ingest", *map(str, arguments), "--json"]) == code
    result: dict[str, Any] = json.loads(capfd.readouterr().out)
    return result


def test_parts_of_large_runs_are_stored_in_groups(
    log: Path, cached: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_groups, "RANKS", 1)
    assert outcome(capfd, 0, log / "r1")["read"] == 2
    assert len(list(cached.glob("*.part"))) == 2 + 2
    unread(monkeypatch)
    assert outcome(capfd, 0, log / "r1")["cached"] == 2
    assert len(list(cached.glob("*.part"))) == 2 + 2


def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, whoever reads a trace fails."""

    def fail(*_: object) -> None:
        raise AssertionError("it was read again")

    monkeypatch.setattr(local, "in_process", fail)
    monkeypatch.setattr(local, "ingest", fail)


def until(condition: Callable[[], Any], seconds: float = 20) -> Any:
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return value


def children(pid: int) -> list[int]:
    """The processes that a process started and that run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *_ = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(path.parent.name))
    return found


@pytest.mark.long
def test_a_server_and_the_command_line_do_not_read_again(
    log: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outcome(capfd, 0, log)
    assert (found["traces"], found["read"], found["cached"], found["failed"]) == (5, 5, 0, [])
    unread(monkeypatch)
    scanner = Scanner(str(log), READERS, interval_s=0)
    until(lambda: not scanner.catalog().runs.scanning)
    client = Client(Routes(scanner, Store()))
    for run, rank, span in catalog.scan(str(log), READERS).files:
        query = {"run": run, "rank": rank, "span": span, "wait_ms": 60_000}
        for name in views.VIEWS:
            answer = client.get(f"/data/plugin/privateuse1/{name}", query_string=query)
            assert answer.status_code == 200, answer.text
        chosen = ["--run", run, "--rank", str(rank), "--span", str(span)]
        assert cli.main(["view", "overview", str(log), *chosen]) == 0
    scanner.close()


@pytest.mark.long
def test_what_is_there_is_not_read_again(
    log: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome(capfd, 0, log / "r2")
    found = outcome(capfd, 0, log)
    assert (found["read"], found["cached"]) == (2, 3)
    assert found["events"] == 8
    assert found["bytes_read"] < found["bytes"]
    trace(log / "r1" / "host_0.1.pt.trace.json", rank=0, name="aten::another")
    assert outcome(capfd, 0, log)["read"] == 1
    unread(monkeypatch)
    assert cli.main(["ingest", str(log)]) == 0
    assert capfd.readouterr().out == "5 traces: 0 read, 5 already in the cache\n"


@pytest.mark.long
def test_events_are_counted_without_a_report(
    log: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker died before its last report, and another one found the trace stored."""
    monkeypatch.setattr(ingest._Task, "hears", lambda task, progress: None)
    found = outcome(capfd, 0, log)
    assert (found["read"], found["events"]) == (5, 20)


@pytest.mark.long
def test_force_reads_all_again(log: Path, cached: Path, capfd: pytest.CaptureFixture[str]) -> None:
    outcome(capfd, 0, log)
    before = {path.name: path.stat().st_ino for path in cached.glob("*.arrow")}
    kept = [path.open() for path in cached.glob("*.arrow")]  # so that no inode is used again
    assert outcome(capfd, 0, log, "--force")["read"] == 5
    after = {path.name: path.stat().st_ino for path in cached.glob("*.arrow")}
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())
    for file in kept:
        file.close()


@pytest.mark.long
def test_failures_are_told_at_the_end_and_the_others_are_done(
    logdir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (failure,) = outcome(capfd, 1, logdir)["failed"]
    assert (failure["run"], failure["rank"], failure["span"]) == ("unreadable", 0, 1)
    assert failure["code"] == "not_json"
    assert cli.main(["ingest", str(logdir)]) == 1
    out, err = capfd.readouterr()
    assert out == "6 traces: 0 read, 5 already in the cache, 1 failed\n"
    assert err.splitlines()[-1].startswith(
        f"tb-privateuse1: run unreadable, rank 0, span 1: {failure['message']}"
    )


@pytest.mark.long
def test_a_single_trace(log: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = outcome(capfd, 0, log / "r1" / "host_3.1.pt.trace.json")
    assert (found["traces"], found["read"]) == (1, 1)
    assert outcome(capfd, 0, log)["cached"] == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["{log}/nowhere"], "no file or directory"),
        (["{log}/empty"], "no traces in"),
        (["{log}", "--jobs", "0"], "at least one reader"),
        (["{log}", "--jobs", "many"], "invalid int"),
        ([], "required: PATH"),
    ],
)
def test_bad_use(
    log: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    (log / "empty").mkdir()
    assert cli.main(["ingest", *(a.format(log=log) for a in arguments)]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err


@pytest.mark.long
def test_a_cache_that_cannot_be_written(
    log: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", "/dev/null/cache")
    found = outcome(capfd, 1, log / "r1")
    assert [failure["code"] for failure in found["failed"]] == ["not_kept"] * 2


@pytest.mark.long
def test_a_cache_that_is_too_small_for_all(
    log: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_BYTES", "1")
    found = outcome(capfd, 1, log, "--jobs", 1)
    assert (found["read"], found["removed"], found["failed"]) == (5, 4, [])
    assert cli.main(["ingest", str(log), "--jobs", "1"]) == 1
    assert "TB_PRIVATEUSE1_CACHE_BYTES" in capfd.readouterr().err


@pytest.mark.long
def test_our_own_mistake_costs_one_trace(
    log: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    have = Store.in_cache

    def fails(self: Store, files: TraceFiles) -> bool:
        if files.rank == 3:
            raise ZeroDivisionError("oops")
        return have(self, files)

    monkeypatch.setattr(Store, "in_cache", fails)
    found = outcome(capfd, 1, log / "r1")
    (failure,) = found["failed"]
    assert (failure["rank"], failure["code"]) == (3, "internal")
    assert failure["message"] == "ZeroDivisionError: oops"
    assert found["read"] == 1


@pytest.mark.long
def test_few_traces_are_open_at_a_time(
    log: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    alive: weakref.WeakSet[Trace] = weakref.WeakSet()
    most = 0
    read = disk.read_trace

    def watched(path: Path, vendors: Vendors) -> Trace | None:
        nonlocal most
        found = read(path, vendors)
        if found is not None:
            gc.collect()
            alive.add(found)
            most = max(most, len(alive))
        return found

    monkeypatch.setattr(disk, "read_trace", watched)
    monkeypatch.setattr(Trace, "__hash__", object.__hash__)
    gc.collect()
    gc.freeze()  # each collection looks at what is made from here on
    request.addfinalizer(gc.unfreeze)
    for span in range(4, 8):
        trace(log / "r2" / f"host_1.{span}.pt.trace.json.gz", rank=0)
    outcome(capfd, 0, log, "--jobs", 2)
    assert 0 < most <= 5
    gc.collect()
    assert len(alive) <= 1


@pytest.mark.long
def test_ctrl_c_ends_at_once_and_the_next_call_goes_on(
    log: Path, cached: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for rank in (8, 9):
        large = log / "r3" / f"host_{rank}.1.pt.trace.json"
        large.parent.mkdir(exist_ok=True)
        large.write_text('{"traceEvents": [' + EVENT * 600_000 + EVENT[:-1] + "]}")
    outcome(capfd, 0, log / "r1")
    process = subprocess.Popen(
        [*COMMAND, str(log), "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        readers = until(lambda: len(found := children(process.pid)) == 2 and found)
        for pid in readers:  # they would never end by themselves
            os.kill(pid, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1].startswith("tb-privateuse1: interrupted: ")
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in readers))
    assert [name for name in os.listdir(cached) if name.startswith(".")] == []
    found = outcome(capfd, 0, log)
    assert found["read"] + found["cached"] == 7
    assert found["cached"] >= 2


@pytest.mark.long
def test_progress_is_on_the_error_stream_and_out_of_the_way(
    log: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tb_privateuse1.cli.progress._LOG_S", 0.0)
    assert cli.main(["ingest", str(log)]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("5 traces: 5 read (")
    assert ", 20 events, " in out
    last = err.splitlines()[-1]
    assert last.startswith("5 of 5 traces, 100 %, ")
    assert "\x1b" not in err


@pytest.mark.parametrize(
    ("elapsed_s", "share", "names"),
    [(4, 0.01, False), (6, 0.11, False), (6, 0.05, True), (90, 1.0, False), (6, 0.0, False)],
)
def test_who_waits_longer_than_a_minute_hears_of_clusters(
    elapsed_s: float, share: float, names: bool
) -> None:
    state = State("", 0, 1, 0, elapsed_s, share)
    assert ("--engine dask://" in (ingest.cluster_hint(state) or "")) == names


def test_a_cluster_is_not_told_of_clusters(
    log: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The local engine is, once."""
    monkeypatch.setattr(ingest, "cluster_hint", lambda _: "use a cluster")
    assert cli.main(["ingest", str(log)]) == 0
    assert capfd.readouterr().err.count("use a cluster") == 1
    monkeypatch.setattr(local.LocalEngine, "name", "dask")
    assert cli.main(["ingest", str(log), "--force"]) == 0
    assert "use a cluster" not in capfd.readouterr().err
