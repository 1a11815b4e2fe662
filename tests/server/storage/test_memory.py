"""What a store has open: bounded, opened once, and its own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.storage import disk_cache, store
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.memory_budget import MemoryBudget, size_bytes
from tb_privateuse1.trace.model import Trace
from tests.server.storage.test_store import until


def test_many_askers_open_a_stored_trace_once(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(jobs=0, cache_dir=tmp_path / "cache").trace(files)
    calls: list[Path] = []
    go_on, read = threading.Event(), disk_cache.read_trace

    def slow(path: Path, vendors: object) -> Trace | None:
        calls.append(path)
        assert go_on.wait(20)
        return read(path, vendors)  # type: ignore[arg-type]

    monkeypatch.setattr(store.disk_cache, "read_trace", slow)
    again = Store(jobs=0, cache_dir=tmp_path / "cache")
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(again.trace, files) for _ in range(8)]
        until(lambda: calls and all(one.running() for one in found))
        go_on.set()
        assert len({id(one.result(20)) for one in found}) == 1
    assert len(calls) == 1


def test_memory_is_bounded_and_keeps_the_latest(files: TraceFiles, tmp_path: Path) -> None:
    variants = [replace(files, worker=f"w{n}") for n in range(3)]
    narrow = MemoryBudget(1)
    made = Store(jobs=0, cache_dir=tmp_path / "cache", memory=narrow)
    for variant in variants:
        found = made.trace(variant)
        assert made.trace(variant) is found
        assert narrow.keys(made) == [disk_cache.cache_key(variant)]
    size = size_bytes(found)
    memory = MemoryBudget(2 * size + size // 2)
    wide = Store(jobs=0, cache_dir=tmp_path / "cache", memory=memory)
    first, *_ = [wide.trace(variant) for variant in variants[:2]]
    assert wide.trace(variants[0]) is first
    wide.trace(variants[2])  # pushes out the one not used for longest: the second
    assert memory.keys(wide) == [
        disk_cache.cache_key(variants[0]),
        disk_cache.cache_key(variants[2]),
    ]
    assert memory.bytes == 2 * size


def test_two_stores_do_not_share_what_they_have_open(files: TraceFiles, tmp_path: Path) -> None:
    one, other = (Store(jobs=0, cache_dir=tmp_path / "cache") for _ in range(2))
    assert one.trace(files) is not other.trace(files)
