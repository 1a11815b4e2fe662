"""What a reader may take, and what becomes of a trace that needs more."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.readers.worker_pool import CAN_FORK
from tb_privateuse1.storage import disk_cache, memory_limit, pyramid_file, reader_process
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.trace_files import trace


def test_by_default_a_reader_may_take_half_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "machine_bytes", lambda: 1001)
    assert reader_process.limit_bytes() == 500
    monkeypatch.setenv("TB_PRIVATEUSE1_READER_BYTES", "3G")
    assert reader_process.limit_bytes() == 3 * 10**9


def test_where_nobody_knows_the_memory_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "machine_bytes", lambda: None)
    assert reader_process.limit_bytes() is None


@pytest.fixture
def large(tmp_path: Path) -> TraceFiles:
    """A trace that takes some 70 MB to read."""
    document = make.document(*[make.op("aten::mm", 2 * i, 2 * i + 1) for i in range(200_000)])
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / "trace.json").write_text(json.dumps(document))
    return catalog.scan(str(tmp_path / "large"), READERS).find()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this limit")
def test_a_trace_that_needs_more_is_told_and_spoils_no_other(
    large: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace(tmp_path / "small" / "host_1.1.pt.trace.json")
    monkeypatch.setenv("TB_PRIVATEUSE1_READER_BYTES", "40M")
    made = Store(1, tmp_path / "cache")
    with pytest.raises(TraceError) as caught:
        made.trace(large)
    assert caught.value.code == "out_of_memory"
    assert caught.value.message == (
        "trace.json needs more than the 40,000,000 bytes of memory that a reader may take."
    )
    assert "TB_PRIVATEUSE1_READER_BYTES" in str(caught.value.hint)
    assert len(made.trace(catalog.scan(str(tmp_path / "small"), READERS).find()).ops)
    made.close()
    monkeypatch.setenv("TB_PRIVATEUSE1_READER_BYTES", "1G")
    enough = Store(1, tmp_path / "cache")
    assert len(enough.trace(large).ops) == 200_000
    enough.close()


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_trace_that_takes_too_long_is_told_and_spoils_no_other(
    large: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace(tmp_path / "small" / "host_1.1.pt.trace.json")
    endless = "from tb_privateuse1.storage import reader_process\n"
    endless += "def ingest(files, *_):\n while files.trace.name == 'trace.json': pass\n"
    endless += " return read(files, *_)\n"
    endless += "read, reader_process.ingest = reader_process.ingest, ingest\n"
    monkeypatch.setattr(reader_process, "_CODE", endless + reader_process._CODE)
    monkeypatch.setenv("TB_PRIVATEUSE1_READER_SECONDS", "1")
    made = Store(1, tmp_path / "cache")
    with pytest.raises(TraceError, match="more than 1 seconds of processor time") as caught:
        made.trace(large)
    assert caught.value.code == "out_of_time"
    assert "TB_PRIVATEUSE1_READER_SECONDS" in str(caught.value.hint)
    monkeypatch.setenv("TB_PRIVATEUSE1_READER_SECONDS", "60")
    assert len(made.trace(catalog.scan(str(tmp_path / "small"), READERS).find()).ops)
    made.close()


_SMALL_TOO = (
    "from tb_privateuse1.readers.chrome import parallel_reading\n"
    "parallel_reading._LARGE_BYTES = 0\n"
)


@pytest.mark.long
@pytest.mark.skipif(not CAN_FORK, reason="only Linux forks")
def test_several_processes_make_the_same_trace(
    large: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_process, "_CODE", _SMALL_TOO + reader_process._CODE)
    made = []
    for processes in ("1", "2"):
        monkeypatch.setenv("TB_PRIVATEUSE1_PROCESSES", processes)
        store = Store(1, tmp_path / processes)
        assert len(store.trace(large).ops) == 200_000
        store.close()
        (stored,) = (tmp_path / processes).rglob("*.arrow")
        made.append(stored.read_bytes())
    assert made[0] == made[1]


@pytest.mark.long
@pytest.mark.skipif(not CAN_FORK, reason="only Linux forks")
def test_the_time_of_a_worker_is_the_reader_s(
    large: TraceFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = "def endless(*_, **named):\n while True: pass\nparallel_reading.read_part = endless\n"
    monkeypatch.setattr(reader_process, "_CODE", _SMALL_TOO + endless + reader_process._CODE)
    monkeypatch.setenv("TB_PRIVATEUSE1_PROCESSES", "2")
    monkeypatch.setenv("TB_PRIVATEUSE1_READER_SECONDS", "2")
    store = Store(1, tmp_path / "cache")
    with pytest.raises(TraceError, match="more than 2 seconds of processor time"):
        store.trace(large)
    store.close()


@pytest.mark.parametrize(("text", "seconds"), [("", 1800), ("60", 60), ("-1", 1800), ("x", 1800)])
def test_the_limit_of_time(text: str, seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_READER_SECONDS", text)
    assert reader_process.limit_s() == seconds


def answered(files: TraceFiles, target: Path) -> dict[str, object]:
    answers: list[dict[str, object]] = []
    targets = [str(target), str(target.with_name("spare"))]
    request = {"files": files, "targets": targets, "vendors": ()}
    reader_process._answer(request, lambda **words: answers.append(words))
    return answers[-1]


@pytest.mark.parametrize("where", ["ingest", "save"])
def test_out_of_memory_anywhere_is_told(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    trace(tmp_path / "log" / "host_1.1.pt.trace.json")
    monkeypatch.setattr(reader_process, where, fail)
    answer = answered(
        catalog.scan(str(tmp_path / "log"), READERS).find(), tmp_path / f"{1:032x}.arrow"
    )
    assert isinstance(answer["error"], dict)
    assert answer["error"]["code"] == "out_of_memory"


def test_a_trace_without_its_pyramid_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Trace:
        raise MemoryError

    trace(tmp_path / "log" / "host_1.1.pt.trace.json")
    monkeypatch.setattr(pyramid_file, "prepare", fail)
    files = catalog.scan(str(tmp_path / "log"), READERS).find()
    target = tmp_path / f"{disk_cache.cache_key(files)}.arrow"
    assert answered(files, target) == {"done": str(target)}
