"""A full disk: the cache gives up its oldest files, and then traces are served from memory."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import disk_cache, ingest
from tb_privateuse1.storage.cache_directory import give_up
from tb_privateuse1.storage.engines import local
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tests.support import make


def key(number: int, suffix: str = "arrow") -> str:
    return f"{number:032x}.{suffix}"


def stored(folder: Path, number: int, bytes: int, suffix: str = "arrow") -> Path:
    """Write a file of the cache that was last used at second ``number``."""
    path = folder / key(number, suffix)
    path.write_bytes(bytes * b"x")
    os.utime(path, (number, number))
    return path


def recording(folder: Path, operators: int = 4) -> TraceFiles:
    folder.mkdir(parents=True)
    events = [make.op(f"aten::op{i}", 10 * i, 10 * i + 5) for i in range(operators)]
    (folder / "rank0.1.pt.trace.json").write_text(json.dumps(make.document(*events)))
    return catalog.scan(str(folder), READERS).find()


def words(trace: Trace) -> list[str]:
    """Return what is said of the cache."""
    return [one.code for one in trace.meta.findings if one.code == "not_stored"]


def test_what_was_not_used_for_longest_is_given_up(tmp_path: Path) -> None:
    """Parts and traces alike; foreign files stay."""
    oldest, middle = stored(tmp_path, 1, 100), stored(tmp_path, 2, 100, "part")
    latest, foreign = stored(tmp_path, 3, 100), tmp_path / "notes.txt"
    foreign.write_text("x")
    assert give_up(tmp_path, 150) == 200
    assert [p.exists() for p in (oldest, middle, latest, foreign)] == [False, False, True, True]
    assert (give_up(tmp_path, 10**9), give_up(tmp_path, 1)) == (100, 0)
    assert give_up(tmp_path / "gone", 1) == 0


def full_until(monkeypatch: pytest.MonkeyPatch, folder: Path, files: int, code: int) -> None:
    """Make writing fail as long as the folder has more cached files than a limit."""
    write = disk_cache.write_trace

    def limited(trace: Trace, path: Path) -> None:
        if path.parent == folder and len(list(folder.glob("*.arrow"))) > files:
            raise OSError(code, os.strerror(code))
        write(trace, path)

    monkeypatch.setattr(disk_cache, "write_trace", limited)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_the_cache_makes_room_for_a_new_trace(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 5):
        stored(tmp_path, number, 1 << 20)
    full_until(monkeypatch, tmp_path, 2, code)
    target = tmp_path / key(9)
    assert ingest.save(make.trace(make.op("a", 0, 1)), [target]) == target
    assert sorted(p.name for p in tmp_path.glob("*.arrow")) == [key(3), key(4), key(9)]


def test_another_error_gives_up_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = stored(tmp_path, 1, 1 << 20)
    full_until(monkeypatch, tmp_path, 0, errno.EACCES)
    assert ingest.save(make.trace(make.op("a", 0, 1)), [tmp_path / key(9)]) is None
    assert held.exists()


def test_without_any_room_a_trace_is_served_from_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so, and a trace that was stored does not."""
    files, cache = recording(tmp_path / "log"), tmp_path / "cache"
    full_until(monkeypatch, cache, -1, errno.ENOSPC)
    found = Store(0, cache).trace(files)
    assert (len(found.ops), words(found)) == (4, ["not_stored"])
    monkeypatch.undo()
    assert words(Store(0, cache).trace(files)) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB; skipped where we may not mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid():
        pytest.skip("only root may mount a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this container may not mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_real_disk_without_room(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the temporary directory on it, too, the trace passes through memory."""
    monkeypatch.setattr(local.tempfile, "gettempdir", lambda: str(small_disk))
    stored(small_disk, 1, 300_000)
    store = Store(1, small_disk)
    try:
        small = store.trace(recording(tmp_path / "small"))
        assert (words(small), (small_disk / key(1)).exists()) == ([], True)
        large = store.trace(recording(tmp_path / "large", 20_000))
        assert (len(large.ops), words(large)) == (20_000, ["not_stored"])
        assert not (small_disk / key(1)).exists()
    finally:
        store.close()
    left = [*Path("/dev/shm").glob("tb_privateuse1-*"), *small_disk.glob("tb_privateuse1-*")]
    assert left == []


def nowhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The temporary directory and the file system in memory are the full disk, too."""
    monkeypatch.setattr(local.tempfile, "gettempdir", lambda: str(folder))
    monkeypatch.setattr(local, "_MEMORY", str(folder))


def test_without_a_file_system_with_room_a_trace_is_read_in_this_process(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container with a small ``/dev/shm``; a part is enough where it is asked for."""
    nowhere(small_disk, monkeypatch)
    store = Store(1, small_disk)
    try:
        large = recording(tmp_path / "large", 20_000)
        assert store.part(large).files == large.names
        found = store.trace(large)
        assert (len(found.ops), words(found)) == (20_000, ["not_stored"])
    finally:
        store.close()


def test_a_recording_that_could_take_the_memory_of_all_is_refused(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server must not read a file of any size in its own memory."""
    nowhere(small_disk, monkeypatch)
    monkeypatch.setattr(local, "_MOST_HERE_BYTES", 1_000)
    store = Store(1, small_disk)
    try:
        with pytest.raises(TraceError) as caught:
            store.trace(recording(tmp_path / "large", 20_000))
    finally:
        store.close()
    assert caught.value.code == "no_room"
