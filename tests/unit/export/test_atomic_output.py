"""Output files are complete or absent."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_privateuse1.export import atomic_output
from tb_privateuse1.trace.errors import TraceError


def test_plain_and_gzipped(tmp_path: Path) -> None:
    atomic_output.save(str(tmp_path / "a.json"), iter([b"one ", b"two"]))
    atomic_output.save(str(tmp_path / "a.json.gz"), iter([b"one ", b"two"]))
    assert (tmp_path / "a.json").read_bytes() == b"one two"
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == b"one two"
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"half"
        raise TraceError("changed", "it changed")

    (tmp_path / "a.json").write_bytes(b"old")
    with pytest.raises(TraceError, match="it changed"):
        atomic_output.save(str(tmp_path / "a.json"), parts())
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"old"


def test_an_unwritable_path(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be written") as caught:
        atomic_output.save(str(tmp_path / "none" / "a.json"), [])
    assert caught.value.code == "unwritable"


def test_a_stream_is_gzip() -> None:
    parts = [os.urandom(1000) for _ in range(50)]
    assert gzip.decompress(b"".join(atomic_output.gzipped(parts))) == b"".join(parts)
    assert gzip.decompress(b"".join(atomic_output.gzipped([]))) == b""
