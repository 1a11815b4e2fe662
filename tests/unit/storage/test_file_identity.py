"""The identity of a trace file in the cache: content, size and time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tb_privateuse1.discovery.file import file_at, locate
from tb_privateuse1.storage import file_identity as module
from tb_privateuse1.storage.file_identity import ENDS_BYTES, identity

SIZES = [0, 1, 2 * ENDS_BYTES - 1, 2 * ENDS_BYTES, 2 * ENDS_BYTES + 1, 5 * ENDS_BYTES]


def write(path: Path, content: bytes, mtime_ns: int = 10**18) -> tuple[int, int, str]:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    os.utime(path, ns=(mtime_ns, mtime_ns))
    return identity(file_at(str(path)))


@pytest.mark.parametrize("size", SIZES)
def test_a_copy_elsewhere_is_the_same(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    assert write(tmp_path / "a" / "x", content) == write(tmp_path / "b" / "y", content)


@pytest.mark.parametrize("size", SIZES[1:])
@pytest.mark.parametrize("where", ["first", "last"])
def test_replaced_by_one_of_the_same_size_and_time(tmp_path: Path, size: int, where: str) -> None:
    path = tmp_path / "x"
    content = bytearray(os.urandom(size))
    before = write(path, bytes(content))
    content[0 if where == "first" else -1] ^= 1
    assert write(path, bytes(content)) != before  # in place: the inode stays
    content[0 if where == "first" else -1] ^= 1
    write(tmp_path / "new", bytes(content))
    (tmp_path / "new").rename(path)
    assert identity(file_at(str(path))) == before


def test_time_and_size_tell_too(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert len({write(path, b"a"), write(path, b"a", 5), write(path, b"aa")}) == 3


def test_the_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TICK_NS", 0)
    reads: list[str] = []
    ends = module._ends
    monkeypatch.setattr(module, "_ends", lambda path, size: reads.append(path) or ends(path, size))
    path = tmp_path / "x"
    first = write(path, b"content")
    assert [identity(file_at(str(path))) for _ in range(5)] == [first] * 5
    assert len(reads) == 1
    shutil.copy2(path, tmp_path / "y")
    os.replace(tmp_path / "y", path)
    assert identity(file_at(str(path))) == first
    assert len(reads) == 2


@pytest.mark.parametrize(("age_s", "is_seen"), [(-1, True), (0, True), (1.5, True), (2, False)])
def test_a_change_within_a_tick_of_the_file_systems_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age_s: float, is_seen: bool
) -> None:
    """Its status stays the same. A file that was older when it was read has no such change."""
    path = tmp_path / "x"
    path.write_bytes(b"before")
    found = locate(str(path))
    assert found.status is not None
    now_ns = found.status.st_ctime_ns + int(age_s * 1e9)
    monkeypatch.setattr(module.time, "time_ns", lambda: now_ns)
    before = identity(found.file, lambda _: found)
    path.write_bytes(b"behind")
    assert (identity(found.file, lambda _: found) != before) == is_seen


def test_a_failure_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"content")

    def fail(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(module, "_ends", fail)
        with pytest.raises(PermissionError):
            identity(file_at(str(path)))
    assert identity(file_at(str(path)))
