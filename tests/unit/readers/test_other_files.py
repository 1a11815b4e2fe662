"""A file that no reader reads: its error says what it is and what to do."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import pytest

from tb_privateuse1 import readers
from tb_privateuse1.trace.errors import TraceError

FILES = {
    "lfs.json": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n", "Git LFS"),
    "annex.json": (b"/annex/objects/SHA256E-s12--ab.json\n", "git-annex"),
    "page.pt.trace.json": (b"<!DOCTYPE html><html><body>Sign in</body></html>", "web page"),
    "error.json": (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "web page"),
    "a.json.enc": (b"\x93\x12\x55\x00random", "encrypted"),
    "b.json": (b"Salted__\x01\x02\x03", "encrypted"),
    "c.nsys-rep": (b"\x01\x02\x03report", "Nsight Systems"),
    "c.qdrep": (b"\x01\x02\x03report", "Nsight Systems"),
    "c.qdstrm": (b"\x01\x02\x03stream", "not imported"),
    "c.ncu-rep": (b"NVR\0report", "Nsight Compute"),
    "host.xplane.pb": (b"\x0a\x10\x08\x01plane", "XProf"),
    "t.pftrace": (b"\x0a\x10packet", "Perfetto"),
    "weights.pkl": (pickle.dumps([1]), "flight recorder"),
    "other.json": (b"SQLite format 3\0" + bytes(100), "another tool"),
    "other.sqlite": (b"SQLite format 3\0" + bytes(100), None),
    "other.db": (b"SQLite format 3\0" + bytes(100), None),
    "t.parquet": (b"PAR1" + bytes(10), "Parquet"),
    "t.json.lz4": (b"\x04\x22\x4d\x18" + bytes(10), "LZ4"),
    "t.7z": (b"7z\xbc\xaf\x27\x1c" + bytes(10), "7-Zip"),
    "t.rar": (b"Rar!\x1a\x07\x01\x00", "RAR"),
    "zeros.json": (bytes(4096), "zeros"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("packed", [False, True])
def test_its_error_says_what_it_is(tmp_path: Path, name: str, packed: bool) -> None:
    content, what = FILES[name]
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(TraceError) as caught:
        readers.read(str(path))
    assert what is None or what in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("name", ["t.json.enc", "t.nsys-rep", "t.xplane.pb", "t.pftrace"])
def test_a_trace_is_read_under_any_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 2}]}'
    )
    assert list(readers.read(str(path)).groups) == ["cpu_op"]


@pytest.mark.parametrize("name", ["t.json.enc", "t.ncu-rep", "t.json"])
def test_other_json_keeps_its_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"a": 1}')
    with pytest.raises(TraceError, match="without traceEvents"):
        readers.read(str(path))
