"""Runs in zip and tar archives: listed and read as from directories, whatever else they hold."""

from __future__ import annotations

import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tb_privateuse1 import readers
from tb_privateuse1.discovery import archive, archive_streams, compressed_files
from tb_privateuse1.discovery.catalog import Catalog, scan
from tb_privateuse1.discovery.file import file_at, open_file
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_files import is_unchanged, refresh
from tb_privateuse1.readers import READERS
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.storage.file_identity import identity
from tb_privateuse1.trace.errors import TraceError
from tests.support import trace_files
from tests.support.repeats import repeats

Files = dict[str, bytes]


def packed_tar(mode: str) -> Callable[[Files], bytes]:
    def pack(files: Files) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=mode) as tar:  # type: ignore[call-overload]
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        return out.getvalue()

    return pack


def packed_zip(method: int) -> Callable[[Files], bytes]:
    def pack(files: Files) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as target:
            for name, content in files.items():
                target.writestr(name, content)
        return out.getvalue()

    return pack


PACK: dict[str, Callable[[Files], bytes]] = {
    "r.zip": packed_zip(zipfile.ZIP_DEFLATED),
    "stored.zip": packed_zip(zipfile.ZIP_STORED),
    "r.tar": packed_tar("w"),
    "r.tar.gz": packed_tar("w:gz"),
    "r.tgz": packed_tar("w:gz"),
    "r.tar.bz2": packed_tar("w:bz2"),
    "r.tar.xz": packed_tar("w:xz"),
}
kinds = pytest.mark.parametrize("name", PACK)
ONE_FOLDER = [HealthCheck.function_scoped_fixture]


@pytest.fixture
def run(tmp_path: Path) -> Files:
    """A run of three ranks, one of them gzipped, and a file of no use."""
    files: Files = {"exp/notes.txt": b"x" * 3000, "exp/.hidden.json": b"[]"}
    for rank in range(3):
        path = tmp_path / "made" / f"host_{rank}.1.pt.trace.json{'.gz' * (rank == 1)}"
        files[f"exp/{path.name}"] = trace_files.trace(path, rank=rank).read_bytes()
    return files


def put(folder: Path, name: str, files: Files) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(PACK[name](files))
    return path


def ranks(catalog: Catalog) -> dict[str, list[int]]:
    return {run.run: [worker.rank for worker in run.workers] for run in catalog.runs.runs}


@kinds
def test_an_archive_is_a_run(tmp_path: Path, name: str, run: Files) -> None:
    path = put(tmp_path / "log", name, run)
    catalog = scan(str(path.parent), READERS)
    assert ranks(catalog) == {f"{name}/exp": [0, 1, 2]}
    assert catalog.runs.warnings == ()
    for (_, rank, _), files in catalog.files.items():
        suffix = ".gz" * (rank == 1)
        content = run[f"exp/host_{rank}.1.pt.trace.json{suffix}"]
        with open_file(files.trace.path) as file:
            assert file.read() == content
        assert files.trace.size == len(content)
        expected = readers.read(str(tmp_path / "made" / files.trace.name))
        raw = readers.read(files.trace.path)
        assert raw.strings == expected.strings
        assert raw.findings == expected.findings == ()
        assert refresh(files) == files
        assert is_unchanged(files)


@kinds
def test_an_archive_is_a_logdir_under_any_name(tmp_path: Path, name: str, run: Files) -> None:
    path = put(tmp_path / "log", name, run)
    other = path.rename(path.with_name("any.file"))
    assert list(ranks(scan(str(other), READERS)).values()) == [[0, 1, 2]]
    scanner = Scanner(str(other), READERS, interval_s=0)
    assert ranks(scanner.await_run()) == {"exp": [0, 1, 2]}
    scanner.close()


def test_archives_beside_other_runs(tmp_path: Path, run: Files) -> None:
    log = tmp_path / "log"
    put(log, "r.zip", run)
    put(log, "r.tar.gz", {name.removeprefix("exp/"): data for name, data in run.items()})
    trace_files.trace(log / "plain" / "host_7.1.pt.trace.json", rank=7)
    (log / "model.zip").write_bytes(packed_zip(0)({"data.pkl": b"\x80\x02"}))
    (log / "no.zip").write_bytes(b"no archive at all")
    assert ranks(scan(str(log), READERS)) == {
        "plain": [7], "r.tar.gz": [0, 1, 2], "r.zip/exp": [0, 1, 2]
    }  # fmt: skip


@kinds
@given(data=st.data())
@settings(
    deadline=None,
    max_examples=repeats(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_reads_give_the_same(tmp_path: Path, name: str, data: st.DataObject) -> None:
    content = os.urandom(1000) * 100
    path = put(tmp_path, name, {"a.json": b"[]", "b.json": content})
    with open_file(archive.join(str(path), "b.json")) as file:
        for _ in range(data.draw(st.integers(1, 5))):
            at = data.draw(st.integers(0, len(content) + 10))
            size = data.draw(st.integers(0, 70_000))
            assert file.seek(at) == at
            assert file.read(size) == content[at : at + size]


OUTSIDE = (
    "../up.json",
    "/etc/root.json",
    "a/../../b.json",
    "C:\\x.json",
    "..\\up.json",
    "a\n.json",
)


@kinds
@pytest.mark.parametrize("outside", OUTSIDE)
def test_names_that_lead_out_are_refused(
    tmp_path: Path, name: str, outside: str, run: Files
) -> None:
    path = put(tmp_path / "log", name, {outside: b"[]"} | run)
    before = sorted(tmp_path.rglob("*"))
    catalog = scan(str(path.parent), READERS)
    assert [finding.code for finding in catalog.runs.warnings] == ["archive_outside"]
    assert ranks(catalog) == {f"{name}/exp": [0, 1, 2]}
    assert sorted(tmp_path.rglob("*")) == before


@kinds
def test_archives_in_archives_are_refused(tmp_path: Path, name: str, run: Files) -> None:
    path = put(tmp_path / "log", name, run | {"exp/in.zip": b"PK\x03\x04", "in.tgz": b""})
    warnings = scan(str(path.parent), READERS).runs.warnings
    assert [(finding.code, finding.count) for finding in warnings] == [("archive_nested", 2)]


def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.tar"
    with tarfile.open(path, "w") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo(f"{kind!r}.pt.trace.json")
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
    found = archive.listing(str(path))
    assert found.entries == {}
    assert [(finding.code, finding.count) for finding in found.findings] == [("archive_links", 4)]
    link = zipfile.ZipInfo("a.pt.trace.json")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as target:
        target.writestr(link, "/etc/passwd")
    found = archive.listing(str(tmp_path / "r.zip"))
    assert [finding.code for finding in found.findings] == ["archive_links"]


def test_an_encrypted_archive_says_so(tmp_path: Path, run: Files) -> None:
    path = put(tmp_path / "log", "stored.zip", {"a.pt.trace.json": b"[]"})
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    for logdir in (path, path.parent):
        with pytest.raises(TraceError, match="encrypted") as caught:
            scan(str(logdir), READERS).find()
        assert "password" in str(caught.value.hint)


def test_the_number_of_files_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_MOST_FILES", 20)
    for name in PACK:
        path = put(tmp_path, name, {f"{i}.json": b"[]" for i in range(30)})
        found = archive.listing(str(path))
        assert len(found.entries) == 20
        assert [finding.code for finding in found.findings] == ["archive_many"]


def test_a_huge_table_of_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_streams, "_MOST_AT_ONCE", 70_000)
    path = put(tmp_path, "r.zip", {f"{'x' * 200}{i}": b"" for i in range(500)})
    assert [finding.code for finding in archive.listing(str(path)).findings] == ["archive_damaged"]


@pytest.mark.long
@kinds
def test_a_bomb_is_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in ("stored.zip", "r.tar"):
        return  # they are as large as what they hold
    monkeypatch.setattr(compressed_files, "_RATIO_FROM", 1 << 20)
    path = put(tmp_path, name, {"a.json": b"[" + b" " * (16 << 20), "b.json": b"[]"})
    found = archive.listing(str(path))
    if name == "r.zip":
        with pytest.raises(TraceError) as caught:
            list(Source(archive.join(str(path), "a.json")).blocks())
        assert caught.value.code == "too_large"
    else:
        assert "b.json" not in found.entries
        assert [finding.code for finding in found.findings] == ["archive_large"]


@kinds
@pytest.mark.parametrize("part", [0.5, 0.9])
def test_a_cut_archive_has_what_is_there(tmp_path: Path, name: str, part: float) -> None:
    content = {f"{i}.json": os.urandom(40_000) for i in range(10)}
    path = put(tmp_path, name, content)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    found = archive.listing(str(path))
    assert [finding.code for finding in found.findings] == ["archive_damaged"]
    if name.endswith("zip"):
        return  # its table of files is at its end
    assert len(found.entries) >= part * 10 - 1 - 9 * (name == "r.tar.bz2")  # of large blocks
    for entry in list(found.entries)[: int(part * 10) - 1]:
        with open_file(archive.join(str(path), entry)) as file:
            assert content[entry].startswith(file.read())


def test_a_damaged_member_is_a_fault(tmp_path: Path) -> None:
    content = os.urandom(200_000)
    path = put(tmp_path, "stored.zip", {"a.json": content})
    whole = bytearray(path.read_bytes())
    whole[1000] ^= 1
    path.write_bytes(whole)
    source = Source(archive.join(str(path), "a.json"))
    assert len(b"".join(source.blocks())) >= 100_000
    assert source.fault == "damaged"


@kinds
def test_another_archive_at_a_path_is_another_file(tmp_path: Path, name: str, run: Files) -> None:
    path = put(tmp_path / "log", name, run)
    member = archive.join(str(path), "exp/host_0.1.pt.trace.json")
    file = file_at(member)
    first = identity(file)
    assert first != identity(file_at(archive.join(str(path), "exp/host_2.1.pt.trace.json")))
    changed = {key: value.replace(b"mm", b"xx") for key, value in run.items()}
    path.write_bytes(PACK[name](changed))
    os.utime(path, ns=(1, 1))
    assert file_at(member) != file
    assert identity(file_at(member)) != first
    path.write_bytes(PACK[name]({"other": b""}))
    with pytest.raises(FileNotFoundError):
        file_at(member)


def test_a_directory_may_have_such_a_name(tmp_path: Path) -> None:
    trace = trace_files.trace(tmp_path / "a.zip!" / "b.json")
    assert archive.split(str(trace)) is None
    assert file_at(str(trace)).size == trace.stat().st_size


def test_a_trace_that_xz_packed_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "t.json.xz"
    path.write_bytes(lzma.compress(b"[]"))
    assert not archive.is_archive(str(path))


@kinds
@given(data=st.data())
@settings(
    deadline=None,
    max_examples=repeats(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_mutations_never_crash_nor_hang(tmp_path: Path, name: str, data: st.DataObject) -> None:
    path = tmp_path / name
    whole = bytearray(PACK[name]({f"{i}.json": b"[" + b" " * i * 300 for i in range(5)}))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    path.write_bytes(whole)
    if not archive.is_archive(str(path)):
        return
    for entry in archive.listing(str(path)).entries.values():
        with open_file(archive.join(str(path), entry.name)) as file:
            assert len(file.read()) <= entry.size
