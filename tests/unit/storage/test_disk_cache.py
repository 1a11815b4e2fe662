"""Cached traces on disk: the same as what was read, and any damage is noticed."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from msgspec.structs import replace

from tb_privateuse1.discovery.file import File, file_at
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.storage import disk_cache, file_identity
from tb_privateuse1.trace.model import TABLES, Trace
from tests.contract.test_layers import imports
from tests.support import make
from tests.support.repeats import sampled
from tests.support.shared_traces import TRACES, load, needs_traces, read
from tests.support.sources import FILES


def sample() -> Trace:
    return make.trace(
        make.step(1, 0, 100),
        make.op("aten::mm \u00e9<b>", 5, 20, id=1),
        make.op("aten::mul", 25, 40, id=2),
        elapsed={1: 10, 2: 15},
    )


def same(one: Trace, other: Trace) -> None:
    for name in Trace.__struct_fields__:
        a, b = getattr(one, name), getattr(other, name)
        if name not in TABLES:
            assert a == b, name
            continue
        for (own, column), (_, stored) in zip(a.columns(), b.columns(), strict=True):
            assert column.dtype == stored.dtype, own
            assert np.array_equal(column, stored), own


@pytest.mark.parametrize("made", [Trace, sample])
def test_round_trip_without_a_copy(tmp_path: Path, made: Callable[[], Trace]) -> None:
    trace = made()
    path = tmp_path / "new" / "dir" / "t.arrow"
    disk_cache.write_trace(trace, path)
    stored = disk_cache.read_trace(path)
    assert stored is not None
    same(trace, stored)
    for name in TABLES:
        for _, column in getattr(stored, name).columns():
            assert not column.flags.owndata
            assert not column.flags.writeable
    assert [p.name for p in path.parent.iterdir()] == ["t.arrow"]


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES), ids=lambda p: p.parent.name)
def test_a_stored_real_trace_is_what_was_read(path: Path) -> None:
    """``load`` stores it, for all tests that ask this recording."""
    same(read(path), load(path))


def test_any_arrow_tool_reads_it(tmp_path: Path) -> None:
    trace = sample()
    disk_cache.write_trace(trace, tmp_path / "t.arrow")
    table = pa.ipc.open_stream((tmp_path / "t.arrow").read_bytes()).read_all()
    operators = table["ops"].combine_chunks().flatten().flatten()
    assert operators[1].to_pylist() == trace.ops.kind.tolist()
    assert table["strings"][0].as_py() == list(trace.strings)


def test_half_a_surrogate_pair_is_stored_as_a_question_mark(tmp_path: Path) -> None:
    disk_cache.write_trace(Trace(strings=("a\ud800b",)), tmp_path / "t.arrow")
    stored = disk_cache.read_trace(tmp_path / "t.arrow")
    assert stored is not None
    assert stored.strings == ("a?b",)


def test_what_cannot_be_opened_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.arrow"
    disk_cache.write_trace(sample(), path)

    def fail(*_: object) -> None:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", fail)
        assert disk_cache.read_trace(path) is None
    assert disk_cache.read_trace(path) is not None


def test_reading_is_a_use(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    disk_cache.write_trace(sample(), path)
    os.utime(path, (1, 1))
    disk_cache.read_trace(path)
    assert path.stat().st_mtime > 1


def test_absent() -> None:
    assert disk_cache.read_trace(Path("/nowhere/t.arrow")) is None


@pytest.mark.long
def test_any_damage_is_noticed_and_the_file_removed(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    trace = sample()
    disk_cache.write_trace(trace, path)
    good = path.read_bytes()
    chance = random.Random(1)
    for _ in range(1000):
        bad = bytearray(good)
        if chance.random() < 0.3:
            bad = bad[: chance.randrange(len(bad))]
        else:
            bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        path.write_bytes(bad)
        stored = disk_cache.read_trace(path)
        assert stored is None
        assert not path.exists()


@pytest.mark.parametrize("what", ["truncated", "overwritten", "removed"])
def test_an_open_trace_is_its_own(tmp_path: Path, what: str) -> None:
    """Mapped, it ended the process or showed the new bytes."""
    path = tmp_path / "t.arrow"
    disk_cache.write_trace(sample(), path)
    stored = disk_cache.read_trace(path)
    assert stored is not None
    if what == "truncated":
        os.truncate(path, 0)
    elif what == "overwritten":
        with path.open("r+b") as file:
            file.write(b"\x7f" * path.stat().st_size)
    else:
        path.unlink()
    same(sample(), stored)
    assert disk_cache.read_trace(path) is None


def test_a_file_that_shrinks_while_it_is_read_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fstat = tmp_path / "t.arrow", os.fstat
    disk_cache.write_trace(sample(), path)

    def then_cut(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        os.truncate(path, status.st_size // 2)
        return status

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", then_cut)
        assert disk_cache.read_trace(path) is None
    assert not path.exists()


def test_a_file_under_another_name_is_not_that_one(tmp_path: Path) -> None:
    one, other = tmp_path / "a.arrow", tmp_path / "b.arrow"
    disk_cache.write_trace(sample(), one)
    disk_cache.write_trace(Trace(), other)
    shutil.copy(other, one)
    assert disk_cache.read_trace(one) is None
    assert not one.exists()
    assert disk_cache.read_trace(other) is not None


def test_a_damaged_file_that_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.arrow"
    path.write_bytes(b"nonsense")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert disk_cache.read_trace(path) is None


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        disk_cache.write_trace(sample(), tmp_path / "t.arrow")
    assert list(tmp_path.iterdir()) == []


def test_the_key_is_of_names_and_makers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, ns=(5, 5))
    a, b, c, d = (file_at(str(tmp_path / name)) for name in ("a", "b", "c", "d"))
    files = TraceFiles(a, b, "w", 0)
    others = [
        replace(files, trace=c),
        replace(files, sidecar=d),
        replace(files, sidecar=None),
        replace(files, worker="v"),
        replace(files, rank=None),
    ]
    keys = {disk_cache.cache_key(f) for f in (files, *others)}
    assert len(keys) == 6
    monkeypatch.setattr(file_identity, "engine_version", lambda: "another")
    assert disk_cache.cache_key(files) not in keys


def test_an_unreadable_sidecar_has_a_key_a_trace_has_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    trace, gone = file_at(str(tmp_path / "a")), File(str(tmp_path / "gone"), 1, 2)
    assert disk_cache.cache_key(TraceFiles(trace, gone, "w", 0)) != disk_cache.cache_key(
        TraceFiles(trace, None, "w", 0)
    )
    with pytest.raises(FileNotFoundError):
        disk_cache.cache_key(TraceFiles(gone, None, "w", 0))


def test_the_engine_is_its_sources() -> None:
    package = Path(disk_cache.__file__).parents[1]
    for maker in file_identity._MAKERS:
        assert (package / maker).exists(), f"{maker} is gone: the key would not notice changes"


def test_another_source_is_another_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_identity, "_PACKAGE", tmp_path)
    digest = file_identity.build_digest.__wrapped__
    (tmp_path / "a.py").write_text("x = 1\n")
    first = digest()
    (tmp_path / "notes.md").write_text("no source")
    assert (digest(), len(first)) == (first, 12)
    (tmp_path / "a.py").write_text("x = 2\n")
    assert digest() != first


@pytest.mark.long
def test_all_that_makes_a_trace_is_of_the_engine() -> None:
    """A stored trace of other sources would be taken for one of these."""
    makers = [maker.replace("/", ".") for maker in file_identity._MAKERS]
    todo = [m for m in FILES if m.split(".")[0] in ("readers", "inference")]
    seen = set(todo)
    while todo:
        named = imports(FILES[todo.pop()].read_text())
        inner = {f"{module}.{name}".partition(".")[2] for module, name in named}
        inner |= {name.rpartition(".")[0] for name in inner}
        new = (inner & FILES.keys()) - seen
        seen |= new
        todo += new
    assert "trace.intervals" in seen
    only_finds = ("discovery", "__init__")
    rooms = (*makers, *only_finds)
    assert [m for m in sorted(seen) if not m.startswith(rooms)] == []


_AT_ONCE = """
import sys, threading
from pathlib import Path
from tb_privateuse1.storage import disk_cache
sys.setswitchinterval(1e-6)
start, read = threading.Barrier(16), []
def one():
    start.wait()
    read.append(disk_cache.read_trace(Path(sys.argv[1])))
threads = [threading.Thread(target=one) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(read) == 16 and None not in read
"""


@pytest.mark.long
def test_the_first_ones_may_be_read_at_once(tmp_path: Path) -> None:
    """msgspec died of that: it found out what a trace holds in several threads."""
    path = tmp_path / "t.arrow"
    disk_cache.write_trace(sample(), path)
    for _ in range(8):
        done = subprocess.run(
            [sys.executable, "-c", _AT_ONCE, str(path)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
