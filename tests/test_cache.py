from __future__ import annotations

import dataclasses
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tb_privateuse1 import cache
from tb_privateuse1.discover.base import File
from tb_privateuse1.runs import Files
from tb_privateuse1.trace import TABLES, Trace
from tests import make
from tests.test_shared_traces import TRACES, load


def sample() -> Trace:
    return make.trace(
        make.step(1, 0, 100),
        make.op("aten::mm \u00e9<b>", 5, 20, id=1),
        make.op("aten::mul", 25, 40, id=2),
        elapsed={1: 10, 2: 15},
    )


def same(one: Trace, other: Trace) -> None:
    for field in dataclasses.fields(Trace):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name not in TABLES:
            assert a == b, field.name
            continue
        for (name, column), (_, stored) in zip(a.columns(), b.columns(), strict=True):
            assert column.dtype == stored.dtype, name
            assert np.array_equal(column, stored), name


@pytest.mark.parametrize("made", [Trace, sample])
def test_round_trip_without_a_copy(tmp_path: Path, made: Callable[[], Trace]) -> None:
    trace = made()
    path = tmp_path / "new" / "dir" / "t.arrow"
    cache.write(trace, path)
    stored = cache.read(path)
    assert stored is not None
    same(trace, stored)
    for name in TABLES:
        for _, column in getattr(stored, name).columns():
            assert not column.flags.owndata
            assert not column.flags.writeable
    assert [p.name for p in path.parent.iterdir()] == ["t.arrow"]


@pytest.mark.parametrize("path", TRACES, ids=lambda p: p.parent.name)
def test_round_trip_of_real_traces(tmp_path: Path, path: Path) -> None:
    trace = load(path)
    cache.write(trace, tmp_path / "t.arrow")
    stored = cache.read(tmp_path / "t.arrow")
    assert stored is not None
    same(trace, stored)


def test_any_arrow_tool_reads_it(tmp_path: Path) -> None:
    trace = sample()
    cache.write(trace, tmp_path / "t.arrow")
    table = pa.ipc.open_stream((tmp_path / "t.arrow").read_bytes()).read_all()
    operators = table["ops"].combine_chunks().flatten().flatten()
    assert operators[1].to_pylist() == trace.ops.kind.tolist()
    assert table["strings"][0].as_py() == list(trace.strings)


def test_half_a_surrogate_pair_is_stored_as_a_question_mark(tmp_path: Path) -> None:
    cache.write(Trace(strings=("a\ud800b",)), tmp_path / "t.arrow")
    stored = cache.read(tmp_path / "t.arrow")
    assert stored is not None
    assert stored.strings == ("a?b",)


def test_absent() -> None:
    assert cache.read(Path("/nowhere/t.arrow")) is None


def test_any_damage_is_noticed_and_the_file_removed(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    trace = sample()
    cache.write(trace, path)
    good = path.read_bytes()
    chance = random.Random(1)
    for _ in range(1000):
        bad = bytearray(good)
        if chance.random() < 0.3:
            bad = bad[: chance.randrange(len(bad))]
        else:
            bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        path.write_bytes(bad)
        stored = cache.read(path)
        assert stored is None
        assert not path.exists()


def test_a_damaged_file_that_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.arrow"
    path.write_bytes(b"nonsense")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert cache.read(path) is None


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        cache.write(sample(), tmp_path / "t.arrow")
    assert list(tmp_path.iterdir()) == []


def test_the_key_changes_with_whatever_makes_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    files = Files(File("/a", 1, 2), File("/b", 3, 4), "w", 0)
    others = [
        dataclasses.replace(files, trace=File("/a", 1, 3)),
        dataclasses.replace(files, trace=File("/a", 2, 2)),
        dataclasses.replace(files, trace=File("/c", 1, 2)),
        dataclasses.replace(files, sidecar=None),
        dataclasses.replace(files, sidecar=File("/b", 3, 5)),
        dataclasses.replace(files, worker="v"),
        dataclasses.replace(files, rank=None),
    ]
    keys = {cache.key(f) for f in (files, *others)}
    assert len(keys) == 8
    monkeypatch.setattr(cache, "engine", lambda: "another")
    assert cache.key(files) not in keys


def test_the_engine_is_its_sources() -> None:
    package = Path(cache.__file__).parent
    for maker in cache._MAKERS:
        assert (package / maker).exists(), f"{maker} is gone: the key would not notice changes"


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(tmp_path))
    assert cache.directory() == tmp_path
    monkeypatch.delenv("TB_PRIVATEUSE1_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache.directory() == Path("/x/tb_privateuse1")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert cache.directory() == Path("/h/.cache/tb_privateuse1")
