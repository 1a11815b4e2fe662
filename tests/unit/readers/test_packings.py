"""Files packed with zstd, xz and bzip2: whole, cut, damaged, monstrous, and under any name."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_privateuse1 import readers
from tb_privateuse1.discovery import compressed_files
from tb_privateuse1.discovery.catalog import scan
from tb_privateuse1.readers import READERS, decompress
from tb_privateuse1.readers.decompress import Source, read_bytes
from tb_privateuse1.trace.errors import TraceError
from tests.support import trace_files
from tests.support.packings import PACK
from tests.support.repeats import repeats

TEXT = b"".join(b'{"n": %d}, ' % (i * 7919 % 100_003) for i in range(40_000))


packings = pytest.mark.parametrize("packing", ["zstd", "xz", "bzip2"])


def unpacked(path: Path) -> tuple[bytes, str | None]:
    opened = Source(str(path))
    return b"".join(opened.blocks()), opened.fault


@pytest.mark.long
@packings
def test_whole_files(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "t"
    for data in (TEXT, b"", b"x"):
        path.write_bytes(PACK[packing](data))
        assert (
            compressed_files.packing_of(path.read_bytes()[: compressed_files.HEAD_BYTES]) == packing
        )
        assert unpacked(path) == (data, None)
        assert read_bytes(str(path)) == data


@pytest.mark.long
@packings
def test_several_streams(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "t"
    path.write_bytes(PACK[packing](TEXT) + PACK[packing](b"more"))
    assert unpacked(path) == (TEXT + b"more", None)


@pytest.mark.long
@packings
def test_padding_costs_nothing(tmp_path: Path, packing: str) -> None:
    path = tmp_path / "t"
    path.write_bytes(PACK[packing](TEXT) + bytes(5000))
    assert unpacked(path)[0] == TEXT


@pytest.mark.long
@packings
@pytest.mark.parametrize("part", [0.3, 0.9, 0.999])
def test_a_cut_stream_yields_what_it_holds(tmp_path: Path, packing: str, part: float) -> None:
    whole = PACK[packing](TEXT)
    path = tmp_path / "t"
    path.write_bytes(whole[: int(part * len(whole))])
    data, fault = unpacked(path)
    assert fault == "cut"
    assert TEXT.startswith(data)
    assert len(data) >= (part - 0.3) * len(TEXT) * (packing != "bzip2")  # its blocks are large
    with pytest.raises(TraceError, match="ends early"):
        read_bytes(str(path))


@pytest.mark.long
@packings
@pytest.mark.parametrize("part", [0.1, 0.5, 0.95])
def test_a_damaged_stream_yields_what_comes_before(
    tmp_path: Path, packing: str, part: float
) -> None:
    long = TEXT * 8
    parts = [PACK[packing](TEXT)] * 8
    whole = bytearray(b"".join(parts))
    at = int(part * len(whole)) // len(parts[0]) * len(parts[0])
    whole[at + 12 : at + 400] = b"\xff" * 388
    path = tmp_path / "t"
    path.write_bytes(whole)
    data, fault = unpacked(path)
    assert fault == "damaged"
    assert data[: at // len(parts[0]) * len(TEXT)] == long[: at // len(parts[0]) * len(TEXT)]


@packings
@settings(deadline=None, max_examples=repeats(60))
@given(data=st.data())
def test_mutations_never_crash_nor_hang(packing: str, data: st.DataObject) -> None:
    whole = bytearray(PACK[packing](TEXT[:20_000]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        size = sum(map(len, compressed_files.unpack(io.BytesIO(whole), packing)))
    except compressed_files.BrokenStream:
        return
    assert size <= len(TEXT) * 400


@pytest.mark.long
@packings
def test_a_bomb_is_refused(tmp_path: Path, packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed_files, "_RATIO_FROM", 1 << 20)
    path = tmp_path / "t"
    path.write_bytes(PACK[packing](b" " * (8 << 20)))
    with pytest.raises(TraceError) as caught:
        unpacked(path)
    assert caught.value.code == "too_large"


@pytest.mark.long
@packings
def test_blocks_are_bounded(packing: str) -> None:
    content = PACK[packing](b" " * (8 << 20))
    assert max(map(len, compressed_files.unpack(io.BytesIO(content), packing))) <= 1 << 20


class _Failing(io.BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        if self.tell() > 1 << 14:
            raise OSError(5, "the disk is gone")
        return super().read(size)


@packings
def test_an_error_of_the_disk_is_no_damage(packing: str) -> None:
    content = PACK[packing](b"".join(i.to_bytes(4, "big") for i in range(0, 1 << 31, 99991)))
    with pytest.raises(OSError, match="the disk is gone"):
        list(compressed_files.unpack(_Failing(content), packing))


@packings
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_trace_is_read_whatever_its_name_says(tmp_path: Path, packing: str, suffix: str) -> None:
    path = tmp_path / f"host_1.123.pt.trace.json{suffix}"
    plain = trace_files.trace(tmp_path / "other.json")
    path.write_bytes(PACK[packing](plain.read_bytes()))
    assert readers.read(str(path)).groups.keys() == readers.read(str(plain)).groups.keys()
    plain.unlink()
    run = scan(str(tmp_path), READERS).runs.runs[0]
    assert run.workers[0].worker == "host_1"


def test_names_of_packed_files() -> None:
    assert compressed_files.unpacked_name("a.json.ZST") == "a.json"
    assert compressed_files.unpacked_name("a.json") == "a.json"


@pytest.mark.parametrize("inner", PACK)
@pytest.mark.parametrize("outer", PACK)
def test_a_packing_in_another_is_unpacked(tmp_path: Path, outer: str, inner: str) -> None:
    path = tmp_path / "host_1.123.json.gz"
    plain = trace_files.trace(tmp_path / "other.json").read_bytes()
    path.write_bytes(PACK[outer](PACK[inner](plain)))
    (tmp_path / "other.json").unlink()
    assert unpacked(path) == (plain, None)
    assert scan(str(tmp_path), READERS).runs.runs[0].workers[0].worker == "host_1"
    assert len(readers.read(str(path)).groups)


@pytest.mark.parametrize("inner", PACK)
@pytest.mark.parametrize("outer", PACK)
def test_a_packing_in_another_that_is_cut_yields_what_it_holds(
    tmp_path: Path, outer: str, inner: str
) -> None:
    path = tmp_path / "t"
    text = TEXT[:20_000]
    path.write_bytes((PACK[outer](PACK[inner](text)) * 3)[:-20])
    data, fault = unpacked(path)
    assert fault in ("cut", "damaged")
    assert (text * 3).startswith(data)
    assert len(data) >= len(text) * 2


def test_a_damage_in_the_inner_stream_loses_what_is_behind_it(tmp_path: Path) -> None:
    inner = bytearray(PACK["gzip"](TEXT))
    inner[len(inner) // 2 : len(inner) // 2 + 300] = b"\xff" * 300
    path = tmp_path / "t"
    path.write_bytes(PACK["gzip"](bytes(inner)))
    data, fault = unpacked(path)
    path.write_bytes(bytes(inner))
    assert (data, fault) == unpacked(path)
    assert fault == "damaged"


def test_packings_in_each_other_have_a_limit_of_depth(tmp_path: Path) -> None:
    content = TEXT
    path = tmp_path / "t.pt.trace.json.gz"
    for _ in range(compressed_files.MOST_LAYERS):
        content = PACK["gzip"](content)
    path.write_bytes(content)
    assert unpacked(path) == (TEXT, None)
    path.write_bytes(PACK["gzip"](content))
    with pytest.raises(TraceError, match="packed more than 4 times"):
        unpacked(path)
    assert scan(str(tmp_path), READERS).runs.runs


def test_every_packing_counts_against_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed_files, "_RATIO_FROM", 1 << 20)
    path = tmp_path / "t"
    # Streams without content: the inner packing unpacks to nothing, however large it is.
    empty = PACK["gzip"](b"")
    path.write_bytes(PACK["gzip"](empty * 100_000))
    with pytest.raises(TraceError) as caught:
        unpacked(path)
    assert caught.value.code == "too_large"


def test_a_stream_that_begins_at_the_edge_of_a_block_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = PACK["gzip"](b"one")
    monkeypatch.setattr(decompress, "_BLOCK", len(first))
    path = tmp_path / "t"
    path.write_bytes(first + PACK["gzip"](b"two"))
    assert unpacked(path) == (b"onetwo", None)
