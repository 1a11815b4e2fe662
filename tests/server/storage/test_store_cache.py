"""The store and its cache on disk: damaged, shared, moved, bounded or not writable."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.discovery.trace_files import refresh as current
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import cache_directory, disk_cache
from tb_privateuse1.storage.store import Store
from tests.server.storage.conftest import but_parts
from tests.server.storage.test_store import unreadable
from tests.support.same import same
from tests.support.trace_files import trace


@pytest.mark.parametrize("jobs", [0, 1])
def test_without_a_writable_cache_it_stays_in_memory(
    files: TraceFiles, tmp_path: Path, jobs: int
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no directory")
    made = Store(jobs, blocked / "cache")
    found = made.trace(files)
    assert len(found.ops) == 4
    assert made.trace(files) is found
    made.close()


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_cache_is_silently_rebuilt(
    files: TraceFiles, made: Store, tmp_path: Path, damage: str
) -> None:
    first = made.trace(files)
    (path,) = but_parts(tmp_path / "cache")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    replaced = tmp_path / "replaced"
    replaced.write_bytes({"cut": bytes(data[:100]), "flip": bytes(data), "empty": b""}[damage])
    replaced.rename(path)
    again = Store(1, tmp_path / "cache")
    assert same(again.trace(files), first)
    assert disk_cache.read_trace(path) is not None
    again.close()


def test_two_stores_on_one_cache(files: TraceFiles, tmp_path: Path) -> None:
    stores = [Store(2, tmp_path / "cache") for _ in range(2)]
    variants = [replace(files, worker=f"w{n}") for n in range(3)]
    with ThreadPoolExecutor(6) as pool:
        found = list(
            pool.map(lambda a: a[0].trace(a[1]), [(s, v) for s in stores for v in variants])
        )
    assert [t.meta.worker for t in found] == ["w0", "w1", "w2"] * 2
    assert len([p for p in (tmp_path / "cache").iterdir() if p.suffix == ".arrow"]) == 3
    assert len(but_parts(tmp_path / "cache")) == 3
    for one in stores:
        one.close()


def test_the_cache_may_be_deleted_at_any_time(
    files: TraceFiles, made: Store, tmp_path: Path
) -> None:
    found = made.trace(files)
    for path in (tmp_path / "cache").iterdir():
        path.unlink()
    (tmp_path / "cache").rmdir()
    assert found.ops.start_ns.sum() >= 0  # its columns are in memory
    assert made.trace(files) is found
    again = Store(1, tmp_path / "cache")
    assert same(again.trace(files), found)
    again.close()


def test_a_run_that_moved_shares_its_cache(
    files: TraceFiles, made: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = made.trace(files)
    shutil.copytree(tmp_path / "log", tmp_path / "mounted" / "elsewhere")  # keeps times
    unreadable(files, made, monkeypatch)
    moved = catalog.scan(str(tmp_path / "mounted"), READERS).find()
    assert moved.trace.path != files.trace.path
    assert same(Store(1, tmp_path / "cache").trace(moved, wait_s=0), first)


@pytest.mark.parametrize("jobs", [0, 1])
def test_beside_the_run_if_wanted_and_writable(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", "beside")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    beside, users = (
        tmp_path / "log" / "r" / cache_directory.HIDDEN,
        tmp_path / "user" / "tb_privateuse1",
    )
    made = Store(jobs)
    found = made.trace(files)
    assert [path.suffix for path in but_parts(beside)] == [".arrow"]
    assert not users.exists()
    assert catalog.scan(str(tmp_path / "log"), READERS).find() == files  # discovery does not see it
    shutil.rmtree(beside)
    beside.write_text("no directory: what is closed to us looks like this even to root")
    again = Store(jobs)
    assert same(again.trace(files), found)
    assert [path.suffix for path in but_parts(users)] == [".arrow"]
    unreadable(files, made, monkeypatch)
    assert same(Store(jobs).trace(files), found)
    for one in (made, again):
        one.close()


@pytest.mark.parametrize("jobs", [0, 1])
def test_the_cache_is_bounded(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_BYTES", "1")
    made = Store(jobs, tmp_path / "cache")
    for n in range(3):
        variant = replace(files, worker=f"w{n}")
        found = made.trace(variant)
        assert [p.stem for p in but_parts(tmp_path / "cache")] == [disk_cache.cache_key(variant)]
        assert found.meta.worker == f"w{n}"
    made.close()


@pytest.mark.parametrize("jobs", [0, 1])
def test_a_file_that_grows_leaves_no_older_versions(tmp_path: Path, jobs: int) -> None:
    """A live run once filled the cache with what nobody could ask for any more."""
    path = trace(tmp_path / "log" / "host_1.1.pt.trace.json")
    other = catalog.scan(str(trace(tmp_path / "other" / "host_1.1.pt.trace.json")), READERS).find()
    files = catalog.scan(str(tmp_path / "log"), READERS).find()
    folder, made = tmp_path / "cache", Store(jobs, tmp_path / "cache")
    made.trace(other)
    first = made.trace(files)
    made.trace(replace(files, worker="the same file, seen elsewhere"))
    assert len(but_parts(folder)) == 3
    os.utime(path, ns=(1, files.trace.mtime_ns - 1))  # an older one takes its place
    made.trace(files)
    assert len(but_parts(folder)) == 4
    for n in range(1, 4):
        os.utime(path, ns=(1, files.trace.mtime_ns + n))
        assert same(made.trace(files), first)
        cache_directory.pyramid_path(
            folder / f"{disk_cache.cache_key(current(files))}.arrow"
        ).touch()
    assert {disk_cache.cache_key(current(files)), disk_cache.cache_key(other)} <= {
        p.stem for p in folder.iterdir()
    }
    assert len(list(folder.glob("*.arrow"))) == 4
    assert len(list(folder.glob("*.pyramid"))) == 1
    made.close()


def test_a_version_that_is_late_removes_no_newer_one(tmp_path: Path) -> None:
    path = trace(tmp_path / "log" / "host_1.1.pt.trace.json")
    files = catalog.scan(str(tmp_path / "log"), READERS).find()
    made = Store(0, tmp_path / "cache")
    os.utime(path, ns=(1, files.trace.mtime_ns + 1))
    made.trace(files)
    made._forget_older("late", files)
    os.utime(path, ns=(1, files.trace.mtime_ns + 2))
    made.trace(files)
    assert [p.stem for p in but_parts(tmp_path / "cache")] == [disk_cache.cache_key(current(files))]


def test_a_request_looks_at_each_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(trace(tmp_path / "log" / f"host_1.{span}.pt.trace.json")) for span in (1, 2)]
    files = catalog.scan(str(tmp_path / "log"), READERS).find()
    assert [own.path for own in (files.trace, files.others[0].trace)] == paths[::-1]
    made = Store(0, tmp_path / "cache")
    made.trace(files)
    looks: Counter[str] = Counter()
    real = os.stat

    def counted(path: str | Path, *given: Any, **named: Any) -> os.stat_result:
        looks[str(path)] += 1
        return real(path, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", counted)
        made.trace(files)
    assert {path: looks[path] for path in paths} == dict.fromkeys(paths, 1)
