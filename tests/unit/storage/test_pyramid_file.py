"""Pyramids beside stored traces: the same as made anew, and never in the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.analysis.account.first_look import find_first_look
from tb_privateuse1.analysis.timeline import level_of_detail
from tb_privateuse1.analysis.timeline.level_of_detail import Pyramid
from tb_privateuse1.storage import cache_directory, derived, disk_cache, file_identity, pyramid_file
from tb_privateuse1.trace.model import Trace
from tests.support.make import frame, kernel, launch, op, step, trace


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyramid_file, "LEAST_RANGES", 1)
    monkeypatch.setattr(level_of_detail, "_FEW", 100)


def some() -> Trace:
    kernels = (kernel(f"k{i % 3}", 60 + 3 * i, 61 + 3 * i, 1) for i in range(5000))
    return trace(step(1, 0, 100), op("outer", 10, 50), op("inner", 20, 30), launch(22, 24, 1),
                 frame("f", 0, 60), *kernels)  # fmt: skip


def stored(tmp_path: Path) -> tuple[Trace, Path]:
    """A trace as a server has it: read from the cache."""
    path = tmp_path / f"{1:032x}.arrow"
    disk_cache.write_trace(some(), path)
    found = disk_cache.read_trace(path)
    assert found is not None
    return found, path


def same(one: Pyramid, other: Pyramid) -> bool:
    def told(each: Pyramid) -> list[Any]:
        tables = [each.tracks, *(level.ranges for level in each.levels)]
        columns = [(name, column.tolist()) for t in tables for name, column in t.columns()]
        return [columns, [(level.bin_ns, level.edges.tolist()) for level in each.levels]]

    return bool(told(one) == told(other))


def test_what_is_read_is_what_was_stored(tmp_path: Path) -> None:
    found, path = stored(tmp_path)
    made = pyramid_file.open_pyramid(found)
    assert len(made.levels) > 3
    assert cache_directory.pyramid_path(path).is_file()
    assert same(pyramid_file.open_pyramid(found), made)
    assert same(made, level_of_detail.build_pyramid(some()))


def test_a_stored_one_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, path = stored(tmp_path)
    pyramid_file.prepare(some(), path)

    def build(_: Trace) -> Pyramid:
        raise AssertionError("it is stored")

    monkeypatch.setattr(level_of_detail, "build_pyramid", build)
    assert len(derived.DerivedData(found).pyramid.tracks) == 4


def test_the_first_look_is_stored_and_another_build_finds_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, _ = stored(tmp_path)
    assert pyramid_file.open_pyramid(found).first_look is None
    look = pyramid_file.open_pyramid(found).first_look
    assert look == find_first_look(some())
    monkeypatch.setattr(file_identity, "build_digest", lambda: "another")
    assert pyramid_file.open_pyramid(found).first_look is None


@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "empty", "other"])
def test_a_lost_or_damaged_one_is_made_again(tmp_path: Path, damage: str) -> None:
    found, path = stored(tmp_path)
    made = pyramid_file.open_pyramid(found)
    beside = cache_directory.pyramid_path(path)
    content = beside.read_bytes()
    beside.write_bytes(
        {
            "gone": b"",
            "cut": content[: len(content) // 2],
            "changed": content[:999] + bytes([content[999] ^ 1]) + content[1000:],
            "empty": b"",
            "other": path.read_bytes(),
        }[damage]
    )
    if damage == "gone":
        beside.unlink()
    assert same(pyramid_file.open_pyramid(found), made)
    assert beside.read_bytes() == content


def test_the_pyramid_of_another_trace_is_not_shown(tmp_path: Path) -> None:
    found, path = stored(tmp_path)
    other = tmp_path / f"{2:032x}.arrow"
    pyramid_file.prepare(trace(step(1, 0, 100), op("another", 10, 50)), other)
    cache_directory.pyramid_path(other).replace(cache_directory.pyramid_path(path))
    assert same(pyramid_file.open_pyramid(found), level_of_detail.build_pyramid(some()))


def test_an_open_pyramid_is_its_own(tmp_path: Path) -> None:
    found, path = stored(tmp_path)
    pyramid_file.prepare(found, path)
    opened = pyramid_file.open_pyramid(found)
    os.truncate(cache_directory.pyramid_path(path), 0)
    assert same(opened, level_of_detail.build_pyramid(some()))


@pytest.mark.long
def test_a_trace_whose_file_is_gone_leaves_nothing_behind(tmp_path: Path) -> None:
    found, path = stored(tmp_path)
    cache_directory.clear(tmp_path)
    path.parent.rmdir()
    assert same(pyramid_file.open_pyramid(found), level_of_detail.build_pyramid(some()))
    assert not tmp_path.exists()


def test_small_ones_are_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyramid_file, "LEAST_RANGES", 10_000)
    found, path = stored(tmp_path)
    pyramid_file.prepare(found, path)
    pyramid_file.open_pyramid(found)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.long
def test_a_trace_that_was_never_stored() -> None:
    assert same(pyramid_file.open_pyramid(some()), level_of_detail.build_pyramid(some()))
    assert disk_cache.cached_path(some()) is None


NAMES = [f"{n:032x}.arrow" for n in range(1, 9)]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_is_counted_and_removed_with_its_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_BYTES", "5k")
    for n, name in enumerate(NAMES):
        (tmp_path / name).write_bytes(b"x" * 1000)
        os.utime(tmp_path / name, (n + 1, n + 1))
    for name in (NAMES[0], NAMES[6]):
        cache_directory.pyramid_path(tmp_path / name).write_bytes(b"x" * 500)
    assert cache_directory.disk_use(tmp_path).bytes == 9000
    cache_directory.make_room(tmp_path)
    assert names(tmp_path) == sorted(
        [cache_directory.pyramid_path(tmp_path / NAMES[6]).name, *NAMES[4:]]
    )
    assert cache_directory.disk_use(tmp_path).traces == 4
    assert cache_directory.remove(tmp_path / NAMES[6])
    assert names(tmp_path) == sorted([NAMES[4], NAMES[5], NAMES[7]])


def test_that_of_a_trace_that_is_gone_is_removed(tmp_path: Path) -> None:
    alone = tmp_path / f"{9:032x}.pyramid"
    half = tmp_path / f".{1:032x}.pyramid.{2:016x}"
    for path in (alone, half):
        path.write_bytes(b"x")
    assert cache_directory.disk_use(tmp_path).bytes == 0
    assert names(tmp_path) == []
