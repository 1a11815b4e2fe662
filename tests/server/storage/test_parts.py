"""Parts of ranks: they cost no trace, outlive theirs, and are made once for all servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.ranks.collectives import RankPart, reduce_trace
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import (
    cache_directory,
    disk_cache,
    file_identity,
    part_file,
    store,
    worker_process,
)
from tb_privateuse1.storage.jobs import Pending
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.memory_budget import MemoryBudget
from tb_privateuse1.trace.model import Trace
from tests.server.storage.test_store import unreadable, until
from tests.support.repeats import sampled
from tests.support.same import same, values
from tests.support.trace_files import trace


@pytest.fixture
def truth(files: TraceFiles) -> Any:
    return values(reduce_trace(Store(0, Path(files.trace.path).parent / "x").trace(files)))


def no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, whoever opens a stored trace fails."""

    def fail(path: Path, _: object) -> None:
        assert not path.exists(), "its columns were opened"

    monkeypatch.setattr(disk_cache, "read_trace", fail)


def paths(files: TraceFiles, folder: Path) -> tuple[Path, Path]:
    """Where its trace and its part are stored."""
    path = folder / f"{disk_cache.cache_key(files)}.arrow"
    return path, cache_directory.part_path(path)


def test_a_reader_writes_it_and_nobody_opens_the_trace(
    files: TraceFiles, made: Store, tmp_path: Path, truth: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_columns(monkeypatch)
    assert values(made.part(files)) == truth
    assert all(path.is_file() for path in paths(files, tmp_path / "cache"))
    unreadable(files, made, monkeypatch)
    assert values(made.part(files, wait_s=0)) == truth


def test_it_outlives_its_trace_and_a_restart(
    files: TraceFiles, made: Store, tmp_path: Path, truth: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.trace(files)
    stored, _ = paths(files, tmp_path / "cache")
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_BYTES", "0")
    cache_directory.make_room(stored.parent)
    assert not stored.exists()
    unreadable(files, made, monkeypatch)
    again = Store(1, tmp_path / "cache")
    assert values(again.part(files, wait_s=0)) == truth


@pytest.mark.parametrize("damage", sampled(["gone", "cut", "other", "version"], 2))
@pytest.mark.parametrize("is_open", [False, True])
def test_one_that_is_lost_is_made_of_the_stored_trace(
    files: TraceFiles,
    made: Store,
    tmp_path: Path,
    truth: Any,
    damage: str,
    is_open: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made.trace(files)
    _, beside = paths(files, tmp_path / "cache")
    if damage == "cut":
        os.truncate(beside, 300)
    elif damage == "version":
        monkeypatch.setattr(file_identity, "analysis_version", lambda: "another")
    else:
        beside.unlink()
    if damage == "other":
        variant = replace(files, worker="another")
        made.part(variant)
        paths(variant, tmp_path / "cache")[1].rename(beside)
    unreadable(files, made, monkeypatch)
    memory = MemoryBudget()
    again = made if is_open else Store(1, tmp_path / "cache", memory=memory)
    assert values(again.part(files, wait_s=0)) == truth
    assert memory.bytes == 0, "a thousand of them would fill it"
    no_columns(monkeypatch)
    monkeypatch.setattr(store, "reduce_trace", no_columns)
    assert values(Store(1, tmp_path / "cache").part(files, wait_s=0)) == truth


def test_who_waits_hears_that_its_part_is_of_another_version(
    files: TraceFiles, made: Store, slow: Path, tmp_path: Path
) -> None:
    _, beside = paths(files, tmp_path / "cache")
    beside.parent.mkdir(exist_ok=True)
    beside.with_stem(file_identity.content_of(beside.stem) + 16 * "0").touch()
    for wait_s in (0, 0.01):
        with pytest.raises(Pending) as caught:
            made.part(files, wait_s=wait_s)
        assert "another version" in (caught.value.progress.note or "")
    (job,) = made._jobs
    until(lambda: job.progress.phase == "reading")
    assert "another version" in (job.progress.note or "")
    job.hears("A worker ended.")
    job.hears(None)
    assert "another version" in (job.progress.note or "")
    slow.touch()
    made.part(files)


def test_without_a_process_it_is_the_same(files: TraceFiles, tmp_path: Path, truth: Any) -> None:
    made = Store(0, tmp_path / "cache")
    assert values(made.part(files)) == truth
    assert all(path.is_file() for path in paths(files, tmp_path / "cache"))


def test_who_asks_for_the_trace_meanwhile_gets_it(
    files: TraceFiles, made: Store, slow: Path, truth: Any
) -> None:
    with pytest.raises(Pending):
        made.part(files, wait_s=0)
    with ThreadPoolExecutor(2) as pool:
        part = pool.submit(made.part, files)
        whole = pool.submit(made.trace, files)
        until(lambda: sum(job.askers for job in made._jobs) == 2)
        slow.touch()
        assert values(part.result(20)) == truth
        assert values(reduce_trace(whole.result(20))) == truth


def test_who_asks_for_the_trace_too_late_gets_it_all_the_same(
    files: TraceFiles, made: Store, slow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job has its part already, and hears only then that a trace is wanted."""
    read = part_file.read_part
    with ThreadPoolExecutor(2) as pool:
        whole: list[Any] = []

        def late(path: Path) -> RankPart | None:
            found = read(path)
            if found is not None and not whole:
                whole.append(pool.submit(made.trace, files))
                until(lambda: sum(job.askers for job in made._jobs) == 2)
            return found

        part = pool.submit(made.part, files)
        until(lambda: sum(job.askers for job in made._jobs) == 1)
        monkeypatch.setattr(store.part_file, "read_part", late)
        slow.touch()
        assert isinstance(part.result(20), RankPart)
        assert isinstance(whole[0].result(20), Trace)


def test_cancelling_parts_spares_who_needs_the_trace(
    files: TraceFiles, made: Store, slow: Path
) -> None:
    with ThreadPoolExecutor(2) as pool:
        part = pool.submit(made.part, files)
        until(lambda: any(job.progress.phase == "reading" for job in made._jobs))
        assert made.cancel(files, parts=True)
        error = part.exception(20)
        assert isinstance(error, TraceError)
        assert error.code == "canceled"
        whole = pool.submit(made.trace, files)
        until(lambda: any(job.progress.phase == "reading" for job in made._jobs))
        assert not made.cancel(files, parts=True)
        slow.touch()
        assert isinstance(whole.result(20), Trace)


def test_of_a_trace_that_grew_while_it_was_read_none_is_stored(
    files: TraceFiles, tmp_path: Path, slow: Path
) -> None:
    made = Store(1, tmp_path / "cache")
    with ThreadPoolExecutor(1) as pool:
        part = pool.submit(made.part, files)
        until(lambda: any(job.progress.phase == "reading" for job in made._jobs))
        trace(Path(files.trace.path), rank=3, name="aten::another")
        slow.touch()
        assert isinstance(part.result(20), RankPart)
    assert list((tmp_path / "cache").iterdir()) == []
    made.close()


def test_a_file_that_grows_leaves_no_older_part(tmp_path: Path) -> None:
    path = trace(tmp_path / "log" / "host_1.1.pt.trace.json")
    files = catalog.scan(str(tmp_path / "log"), READERS).find()
    made = Store(1, tmp_path / "cache")
    for n in range(3):
        os.utime(path, ns=(1, files.trace.mtime_ns + n))
        made.part(files)
    assert sorted(one.suffix for one in (tmp_path / "cache").iterdir()) == [".arrow", ".part"]
    made.discard(files)
    assert list((tmp_path / "cache").iterdir()) == []
    made.close()


def test_an_unreadable_trace_has_none(files: TraceFiles, made: Store) -> None:
    Path(files.trace.path).write_bytes(b"nothing")
    for _ in range(2):
        with pytest.raises(TraceError):
            made.part(files)


def test_a_trace_that_cannot_be_reduced_is_stored_without(
    files: TraceFiles, made: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Trace) -> RankPart:
        raise ZeroDivisionError

    popen = subprocess.Popen
    code = "from tb_privateuse1.storage import part_file\npart_file.reduce_trace = None\n"
    monkeypatch.setattr(
        worker_process.subprocess,
        "Popen",
        lambda command, **options: popen([*command[:-1], code + command[-1]], **options),
    )
    found = made.trace(files)
    monkeypatch.setattr(store, "reduce_trace", fail)
    with pytest.raises(ZeroDivisionError):
        made.part(files)
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".arrow"]
    assert same(made.trace(files), found)


def test_the_parts_a_server_makes_are_bounded(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_PART_BYTES", "1")
    made = Store(0, tmp_path / "cache")
    for n in range(3):
        variant = replace(files, worker=f"w{n}")
        made.part(variant)
        cache_directory.make_room(tmp_path / "cache", keep=paths(variant, tmp_path / "cache")[0])
        beside = paths(variant, tmp_path / "cache")[1]
        assert list((tmp_path / "cache").glob("*.part")) == [beside]


@pytest.mark.long
def test_two_servers_make_each_once(tmp_path: Path) -> None:
    for n in range(6):
        trace(tmp_path / "log" / f"r{n}" / "host_1.1.pt.trace.json", rank=n, name=f"aten::op{n}")
    expected = {
        place[0]: repr(values(Store(0, tmp_path / "other").part(files)))
        for place, files in catalog.scan(str(tmp_path / "log"), READERS).files.items()
    }

    def serve(seed: int) -> Any:
        command = [sys.executable, "-m", "tests.support.load_server", str(tmp_path / "cache")]
        command += [str(tmp_path / "log"), str(seed), "part"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=120)
        return json.loads(done.stdout)

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(serve, range(2))
    assert one["got"] == other["got"] == expected
    assert len(one["readings"]) + len(other["readings"]) == 6
    assert len(list((tmp_path / "cache").iterdir())) == 12
