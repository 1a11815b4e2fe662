"""A trace that is read again because another version stored its part: who waits is to know."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.i18n import render
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import cache_directory, disk_cache, file_identity, part_file, store
from tb_privateuse1.storage.part_file import EarlierParts
from tb_privateuse1.storage.store import Store
from tests.support.clock import FakeClock
from tests.support.trace_files import trace


@pytest.fixture
def files(tmp_path: Path) -> TraceFiles:
    trace(tmp_path / "log" / "r" / "host_0.1.pt.trace.json", rank=0)
    return catalog.scan(str(tmp_path / "log"), READERS).find()


def path_of(files: TraceFiles, folder: Path) -> Path:
    return folder / f"{disk_cache.cache_key(files)}.arrow"


def change(monkeypatch: pytest.MonkeyPatch, name: str, version: str = "another") -> None:
    """Let another version of the package look from now on."""
    monkeypatch.setattr(file_identity, name, lambda: version)


def test_a_part_of_another_engine(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, clock = tmp_path / "cache", FakeClock()
    before = path_of(files, cache)
    notes = EarlierParts(clock.now)
    assert notes.note([before]) is None, "there is no directory yet"
    Store(0, cache).part(files)
    clock.advance(3600)
    assert notes.note([before]) is None, "it is of this version, and was removed since"
    change(monkeypatch, "engine_version")
    now = path_of(files, cache)
    assert now.stem != before.stem
    assert file_identity.content_of(now.stem) == file_identity.content_of(before.stem)
    note = notes.note([tmp_path / "elsewhere" / now.name, now])
    assert note is not None
    assert "another version" in note
    assert "其他版本" in render(note, "zh")
    trace(Path(files.trace.path), rank=0, note="another content")
    other = path_of(catalog.scan(str(tmp_path / "log"), READERS).find(), cache)
    assert notes.note([other]) is None


def test_a_part_of_another_analysis(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    Store(0, cache).part(files)
    path = path_of(files, cache)
    change(monkeypatch, "analysis_version")
    assert part_file.read_part(path) is None
    assert EarlierParts().note([path]) is not None


def test_two_versions_of_the_analysis_keep_their_parts_side_by_side(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    reduce_trace = store.reduce_trace
    monkeypatch.setattr(
        store, "reduce_trace", lambda one: made.append(version) or reduce_trace(one)
    )
    for version in ("a", "b", "a", "b"):
        change(monkeypatch, "analysis_version", version)
        Store(0, tmp_path / "cache").part(files)
    assert made == ["a", "b"]
    path = path_of(files, tmp_path / "cache")
    mine = cache_directory.part_path(path)
    change(monkeypatch, "analysis_version", "a")
    theirs = cache_directory.part_path(path)
    os.utime(theirs, (1, 1))
    monkeypatch.setenv("TB_PRIVATEUSE1_PART_BYTES", str(mine.stat().st_size))
    cache_directory.make_room(tmp_path / "cache")
    assert mine.exists()
    assert not theirs.exists(), "an unused version goes first"


def test_a_part_that_was_made_again_and_removed_is_of_this_version(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    Store(0, cache).part(files)
    path = path_of(files, cache)
    change(monkeypatch, "analysis_version")
    Store(0, cache).part(files)
    shutil.rmtree(cache)
    assert EarlierParts().note([path]) is None


def test_a_directory_is_listed_once_a_minute(
    files: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[object] = []
    monkeypatch.setattr("os.listdir", lambda folder: listed.append(folder) or [])
    clock = FakeClock()
    notes, path = EarlierParts(clock.now), path_of(files, tmp_path)
    for _ in range(5):
        notes.note([path])
    assert len(listed) == 1
    clock.advance(61)
    notes.note([path])
    assert len(listed) == 2
