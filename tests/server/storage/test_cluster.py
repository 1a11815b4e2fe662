"""Traces are read by a real Dask cluster: a scheduler and two workers, as processes."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks import many_ranks
from tb_privateuse1 import cli
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.remote import filesystem
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.engines import local as local_engine
from tb_privateuse1.storage.engines import select_engine
from tb_privateuse1.storage.jobs import Pending
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, Selection
from tests.support import s3
from tests.support.same import same, values
from tests.support.sources import PACKAGE
from tests.support.trace_files import trace

pytest.importorskip("distributed")
from tb_privateuse1.storage.engines import dask_connection, dask_engine
from tests.support.dask_cluster import GREEDY, HOLD, Cluster, cluster

pytestmark = pytest.mark.long

SOON_S = 60.0

ELSEWHERE = """
from tb_privateuse1.storage.engines import cluster_task
cluster_task._stored = lambda files, targets, *_: targets[0].parent / "elsewhere" / targets[0].name
"""
"""A worker that stores traces where we do not see them."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler with two workers."""
    with cluster(tmp_path_factory.mktemp("dask") / "shared") as made:
        made.start_worker()
        made.start_worker()
        yield made


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler without workers, for one test."""
    with cluster(tmp_path / "dask") as made:
        yield made


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A run of six ranks."""
    many_ranks.make(tmp_path / "log" / "run", ranks=6, steps=4)
    return tmp_path / "log"


class Held:
    """Workers that wait at a trace, and who they are."""

    def __init__(self, folder: Path, only: str = "") -> None:
        self.began, self.done = folder / "began", folder / "done"
        self.began.mkdir()
        self.preload = HOLD.format(began=str(self.began), done=str(self.done), only=only)

    @property
    def pids(self) -> set[int]:
        """The workers that have begun to read."""
        return {int(path.name) for path in self.began.iterdir()}


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    made = Held(tmp_path)
    yield made
    made.done.touch()


def store(cluster: Cluster, folder: Path) -> Store:
    return Store(cache_dir=folder, engine=select_engine(cluster.engine))


def files_of(log: Path) -> TraceFiles:
    return catalog.scan(str(log), READERS).find()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def says(made: Store, files: TraceFiles, text: str) -> bool:
    """Whether the progress of a trace says so, or else the trace is there already."""
    try:
        made.trace(files, wait_s=0.02)
    except Pending as pending:
        return text in (pending.progress.note or "")
    raise AssertionError("it is read")


def reads(made: Store, files: TraceFiles) -> bool:
    try:
        made.trace(files, wait_s=0.02)
    except Pending as pending:
        return pending.progress.phase == "reading" and pending.progress.events == 7
    return False


def answers(made: Store, log: Path) -> list[bytes]:
    """All ranks together, and pages of single ones."""
    reader = Reader(made, catalog.scan(str(log), READERS))
    ranks = encode(reader.run(Request(VIEWS["distributed"], Selection("run"))))
    single = [
        encode(reader.run(Request(VIEWS[view], Selection("run", rank))))
        for view in ("overview", "operators", "kernels")
        for rank in (0, 5)
    ]
    return [ranks, *single]


def test_answers_are_those_of_the_local_engine(shared: Cluster, log: Path, tmp_path: Path) -> None:
    here, there = Store(jobs=0, cache_dir=tmp_path / "here"), store(shared, tmp_path / "there")
    assert answers(there, log) == answers(here, log)
    written = {path.name for path in (tmp_path / "there").iterdir()}
    assert written == {path.name for path in (tmp_path / "here").iterdir()}
    for name in written:
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    there.close()
    here.close()


def test_ingest_reads_on_the_cluster(
    shared: Cluster,
    log: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(tmp_path / "cache"))
    assert cli.main(["ingest", str(log), "--engine", shared.engine]) == 0
    assert "6 traces: 6 read" in capsys.readouterr().out
    assert cli.main(["ingest", str(log), "--engine", shared.engine]) == 0
    assert "0 read, 6 already in the cache" in capsys.readouterr().out


def test_an_unreadable_trace_is_told_as_by_the_local_engine(
    shared: Cluster, tmp_path: Path
) -> None:
    path = trace(tmp_path / "log" / "r" / "host_1.1.pt.trace.json.gz")
    path.write_bytes(path.read_bytes()[:30])
    files = files_of(tmp_path / "log")
    errors = []
    for made in (store(shared, tmp_path / "there"), Store(1, tmp_path / "here")):
        with pytest.raises(TraceError) as caught:
            made.trace(files)
        errors.append((caught.value.code, caught.value.message, caught.value.hint))
        made.close()
    assert errors[0] == errors[1]


@pytest.mark.exhaustive
def test_two_servers_have_a_trace_read_once(alone: Cluster, log: Path, held: Held) -> None:
    alone.start_worker(preload=held.preload)
    alone.start_worker(preload=held.preload)
    made = [store(alone, log.parent / "cache") for _ in range(2)]
    files = files_of(log)
    with ThreadPoolExecutor(2) as pool:
        traces = [pool.submit(one.trace, files) for one in made]
        until(lambda: all(len(one._jobs) == 1 for one in made) and reads(made[1], files))
        readers = len(held.pids)
        held.done.touch()
        assert readers == 1
        assert same(traces[0].result(SOON_S), traces[1].result(SOON_S))
    for one in made:
        one.close()


@pytest.mark.exhaustive
def test_a_killed_worker_costs_time_only(alone: Cluster, log: Path, held: Held) -> None:
    """Its nanny stays, and starts another one."""
    alone.start_worker(preload=held.preload)
    made, files = store(alone, log.parent / "cache"), files_of(log)
    until(lambda: reads(made, files))
    (pid,) = held.pids
    os.kill(pid, signal.SIGKILL)
    until(lambda: says(made, files, "A worker of the cluster ended. The trace is read again."))
    until(lambda: len(held.pids) == 2)
    assert says(made, files, "read again"), "it is told until the end"
    held.done.touch()
    assert same(made.trace(files), Store(0, log.parent / "here").trace(files))
    made.close()


@pytest.mark.exhaustive
def test_a_lost_machine_costs_time_only(alone: Cluster, log: Path, held: Held) -> None:
    """Worker and nanny are gone; another machine comes."""
    first = alone.start_worker(preload=held.preload)
    made, files = store(alone, log.parent / "cache"), files_of(log)
    until(lambda: reads(made, files))
    os.killpg(first.pid, signal.SIGKILL)
    until(lambda: says(made, files, "The cluster has no worker"))
    alone.start_worker(preload=held.preload)
    until(lambda: says(made, files, "A worker of the cluster ended. The trace is read again."))
    held.done.touch()
    assert same(made.trace(files), Store(0, log.parent / "here").trace(files))
    made.close()


@pytest.mark.exhaustive
def test_a_killed_scheduler_costs_time_only(alone: Cluster, log: Path, held: Held) -> None:
    alone.start_worker(preload=held.preload)
    made, files = store(alone, log.parent / "cache"), files_of(log)
    until(lambda: reads(made, files))
    alone.kill_scheduler()
    until(lambda: says(made, files, "The scheduler of the cluster does not answer"))
    alone.start_scheduler()
    alone.start_worker()
    assert same(made.trace(files), Store(0, log.parent / "here").trace(files))
    made.close()


@pytest.mark.exhaustive
def test_a_scheduler_that_hangs_is_told(alone: Cluster, log: Path, held: Held) -> None:
    """Its machine is lost, and nothing closes the connection."""
    alone.start_worker(preload=held.preload)
    made, files = store(alone, log.parent / "cache"), files_of(log)
    until(lambda: reads(made, files))
    assert alone.scheduler is not None
    os.kill(alone.scheduler.pid, signal.SIGSTOP)
    try:
        until(lambda: says(made, files, "The scheduler of the cluster does not answer"))
    finally:
        os.kill(alone.scheduler.pid, signal.SIGCONT)
    held.done.touch()
    assert same(made.trace(files), Store(0, log.parent / "here").trace(files))
    made.close()


def test_a_lost_scheduler_is_told_within_ten_seconds() -> None:
    """One look at the workers, behind a pause, with the longest time that it may take."""
    assert dask_engine._LOOK_S + dask_connection._PAUSE_S + dask_connection.CONNECT_S < 10


def test_a_canceled_trace_frees_its_worker(alone: Cluster, log: Path, held: Held) -> None:
    alone.start_worker(preload=held.preload.replace("''", "'host_0.'"))
    made = store(alone, log.parent / "cache")
    found = catalog.scan(str(log), READERS)
    first, second = found.find("run", 0), found.find("run", 1)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(made.trace, first)
        until(lambda: held.pids)
        assert made.cancel(first)
        with pytest.raises(TraceError) as caught:
            asked.result(SOON_S)
    assert caught.value.code == "canceled"
    assert len(made.trace(second, wait_s=SOON_S).ops), "the only worker has time for it"
    held.done.touch()
    assert len(made.trace(first, wait_s=SOON_S).ops), "and for the first one, if asked again"
    made.close()


@pytest.mark.exhaustive
def test_a_worker_without_memory_ends_alone(alone: Cluster, log: Path) -> None:
    alone.start_worker("--memory-limit", "400MB", preload=GREEDY.format(only="host_0."))
    made = store(alone, log.parent / "cache")
    found = catalog.scan(str(log), READERS)
    with pytest.raises(TraceError) as caught:
        made.trace(found.find("run", 0))
    assert caught.value.code == "reader_died"
    assert caught.value.message == (
        "2 workers of the cluster died one after the other while they read "
        "host_0.1700000000000.pt.trace.json.gz."
    )
    assert len(made.trace(found.find("run", 1)).ops)
    made.close()


def test_a_worker_of_another_version_is_refused(alone: Cluster, log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(
        PACKAGE, other / PACKAGE.name, ignore=shutil.ignore_patterns("static", "__pycache__")
    )
    version = other / PACKAGE.name / "trace" / "version.py"
    version.write_text(version.read_text().replace('VERSION = "', 'VERSION = "9.'))
    alone.start_worker(variables={"PYTHONPATH": str(other)})
    made = store(alone, log.parent / "cache")
    with pytest.raises(TraceError) as caught:
        made.trace(files_of(log))
    assert caught.value.code == "cluster_versions"
    assert "A worker of the cluster has another version of tb-privateuse1: 9." in str(caught.value)
    assert "server, the scheduler and all workers" in str(caught.value.hint)
    made.close()


@pytest.mark.exhaustive
def test_a_worker_with_a_cache_of_its_own_is_told(
    alone: Cluster, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tb_privateuse1.storage.engines import dask_engine

    monkeypatch.setattr(dask_engine, "_VISIBLE_S", 0.0)
    alone.start_worker(preload=ELSEWHERE)
    made = store(alone, log.parent / "cache")
    with pytest.raises(TraceError) as caught:
        made.trace(files_of(log))
    assert caught.value.code == "cluster_cache"
    assert "TB_PRIVATEUSE1_CACHE" in str(caught.value.hint)
    made.close()


def test_a_scheduler_that_is_not_there_is_told_at_once(
    alone: Cluster, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert alone.scheduler is not None
    os.killpg(alone.scheduler.pid, signal.SIGKILL)
    assert alone.scheduler.wait() == -signal.SIGKILL
    assert cli.main(["ingest", str(log), "--engine", alone.engine]) == 2
    assert "The Dask scheduler at tcp://127.0.0.1:" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_a_closed_server_leaves_the_cluster_idle(alone: Cluster, log: Path, held: Held) -> None:
    alone.start_worker(preload=held.preload)
    made, files = store(alone, log.parent / "cache"), files_of(log)
    until(lambda: reads(made, files))
    made.close()
    other = store(alone, log.parent / "cache")
    held.done.touch()
    assert len(other.trace(files, wait_s=SOON_S).ops)
    other.close()


@pytest.mark.exhaustive
def test_an_object_store_is_the_cache_of_all(
    alone: Cluster, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Server and worker have caches of their own; a second server finds what the first had read."""
    fsspec = pytest.importorskip("fsspec")
    pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    with s3.serve() as address:
        for name, value in s3.environment(address).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setitem(fsspec.config.conf, "s3", {"endpoint_url": address})
        monkeypatch.setattr(filesystem, "_servers", {})
        fs = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
        fs.mkdir("bucket")
        monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_URL", "s3://bucket/cache")
        alone.start_worker(variables={"TB_PRIVATEUSE1_CACHE": str(tmp_path / "worker")})
        here = Store(0, tmp_path / "here")
        expected = answers(here, log)
        made = store(alone, tmp_path / "there")
        found = catalog.scan(str(log), READERS)
        assert values(made.part(found.find("run", 3))) == values(here.part(found.find("run", 3)))
        assert {path.suffix for path in (tmp_path / "there").iterdir()} == {".part"}
        assert answers(made, log) == expected
        assert len(fs.ls("bucket/cache")) == 12, "a trace and a part of each rank"
        made.close()
        alone.close()
        monkeypatch.setattr(local_engine, "in_process", None)  # it reads nothing
        local = Store(cache_dir=tmp_path / "second", engine=select_engine("local"))
        assert answers(local, log) == expected
        local.close()
