"""Unpacked bytes of whole, cut, damaged and monstrous files."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest

from tb_privateuse1.discovery import compressed_files
from tb_privateuse1.discovery.compressed_files import LIMIT_VARIABLE
from tb_privateuse1.readers.decompress import Source, read_bytes
from tb_privateuse1.trace.errors import TraceError

TEXT = b"".join(b'{"n": %d}, ' % (i * 7919 % 100_003) for i in range(20_000))


def unpacked(path: Path) -> tuple[bytes, str | None]:
    opened = Source(str(path))
    return b"".join(opened.blocks()), opened.fault


@pytest.mark.parametrize("level", [0, 1, 9])
def test_plain_and_gzip(tmp_path: Path, level: int) -> None:
    path = tmp_path / "t"
    for data in (TEXT, b""):
        path.write_bytes(data)
        assert unpacked(path) == (data, None)
        path.write_bytes(gzip.compress(data, level))
        assert unpacked(path) == (data, None)
        assert read_bytes(str(path)) == data


def test_several_members_and_padding(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(TEXT) + gzip.compress(b"more") + b"\0" * 5000)
    assert unpacked(path) == (TEXT + b"more", None)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_a_cut_stream_yields_what_it_holds(tmp_path: Path, part: float) -> None:
    packed = gzip.compress(TEXT)
    cut = packed[: max(2, int(part * len(packed)))]
    path = tmp_path / "t.gz"
    path.write_bytes(cut)
    data, fault = unpacked(path)
    assert fault == "cut"
    assert data == (zlib.decompressobj(31).decompress(cut) if len(cut) > 2 else b"")
    with pytest.raises(TraceError, match="ends early"):
        read_bytes(str(path))


@pytest.mark.parametrize("part", [0.02, 0.5, 0.95])
def test_a_damaged_stream_yields_what_comes_before(tmp_path: Path, part: float) -> None:
    packed = bytearray(gzip.compress(TEXT, 9))
    at = int(part * len(packed))
    packed[at : at + 40] = b"\xff" * 40
    path = tmp_path / "t.gz"
    path.write_bytes(packed)
    data, fault = unpacked(path)
    assert fault == "damaged"
    sure = len(zlib.decompressobj(31).decompress(bytes(packed[: at - 300])))
    assert data[:sure] == TEXT[:sure]
    assert len(data) >= sure


def test_a_damaged_header_yields_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    for data in (b"\x1f\x8b\xff" + bytes(2000), gzip.compress(b"a")[:10] + b"\xff" * 2000):
        path.write_bytes(data)
        assert unpacked(path) == (b"", "damaged")


def test_a_wrong_checksum_costs_nothing(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 1
    path = tmp_path / "t.gz"
    path.write_bytes(packed)
    assert unpacked(path) == (TEXT, "damaged")


def test_the_limit_that_the_user_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(TEXT))
    monkeypatch.setenv(LIMIT_VARIABLE, str(len(TEXT)))
    assert unpacked(path)[0] == TEXT
    monkeypatch.setenv(LIMIT_VARIABLE, str(len(TEXT) - 1))
    with pytest.raises(TraceError) as caught:
        unpacked(path)
    assert caught.value.code == "too_large"
    assert LIMIT_VARIABLE in (caught.value.hint or "")


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed_files, "_RATIO_FROM", 1 << 20)
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(b" " * (8 << 20)))
    with pytest.raises(TraceError) as caught:
        unpacked(path)
    assert caught.value.code == "too_large"


def test_a_whole_file_in_memory_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(TEXT))
    with pytest.raises(TraceError) as caught:
        read_bytes(str(path), 1000)
    assert caught.value.code == "too_large"


def test_progress_may_cancel(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(TEXT)

    def progress(*told: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(Source(str(path), progress).blocks())
