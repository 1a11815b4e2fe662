"""One event's record: from the file, with what was made of it, and never of another file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import tb_privateuse1 as tbp
from tb_privateuse1 import readers
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.event_record import LONGEST, EventRecord, Link, read_record
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import TableName
from tests.support import make, trace_files
from tests.support.flight_recorders import Rank

MARKUP = "<img src=x onerror=alert(1)>"


def write(folder: Path, *given: make.Event, **keys: Any) -> Path:
    return trace_files.write(folder / "r" / "w.1.pt.trace.json", make.document(*given, **keys))


def ask(path: Path, table: TableName, row: int) -> EventRecord:
    files = catalog.scan(str(path.parent), READERS).find()
    return read_record(*Store(jobs=0).open(files), table=table, row=row)


def some() -> list[make.Event]:
    return [
        make.step(1, 0, 100),
        make.frame("train.py(1): f", 1, 90, **{"Python id": 1}),
        make.op("aten::linear", 2, 60, id=1, **{"Input Dims": [[2, 3]], "Call stack": "a;b"}),
        make.op("aten::mm", 5, 20, id=2),
        make.launch(8, 10, 7),
        make.memory(9, 512, 1024),
        make.kernel("gemm", 12.345, 40, 7, grid=[1, 2, 3]),
    ]


def test_half_a_character_is_escaped(tmp_path: Path) -> None:
    """A pickle may hold a lone surrogate, which UTF-8 does not have."""
    rank = Rank(0).call()
    rank.entries[0]["thread_name"] = "python\ud83d"
    rank.dump(tmp_path / "r")
    files = catalog.scan(str(tmp_path), READERS).find()
    record = read_record(*Store(jobs=0).open(files), table="ops", row=0).record
    assert record is not None
    assert json.loads(record)["thread_name"] == "python\\ud83d"


def test_the_record_is_what_the_file_has(tmp_path: Path) -> None:
    path = write(tmp_path, *some())
    found = ask(path, "kernels", 0)
    assert found.record is not None
    assert json.loads(found.record) == some()[-1]
    assert '"ts": 12.345' in found.record
    assert (found.file, found.cut) == ("w.1.pt.trace.json", False)
    assert (found.name, found.thread) == ("gemm", "device 0 stream 7")
    assert (found.start_ns, found.duration_ns) == (12_345, 27_655)
    assert found.operator == Link("ops", 2, "aten::mm")
    assert found.launch == Link("launches", 0, "cudaLaunchKernel")
    assert (found.step, found.evidence) == ("ProfilerStep#1", "measured")
    assert (found.start_bound_ns, found.duration_bound_ns) == (0, 0)


def test_every_table_has_records(tmp_path: Path) -> None:
    path = write(tmp_path, *some())
    named: dict[TableName, str] = {
        "ops": "ProfilerStep#1", "frames": "train.py(1): f", "launches": "cudaLaunchKernel",
        "kernels": "gemm", "memory": "[memory]",
    }  # fmt: skip
    for table, name in named.items():
        found = ask(path, table, 0)
        assert found.record is not None
        assert json.loads(found.record)["name"] == found.name == name
    inner = ask(path, "ops", 2)
    assert inner.parent == Link("ops", 1, "aten::linear")
    assert (inner.self_ns, inner.elapsed_ns, inner.step) == (13_000, None, "ProfilerStep#1")
    instant = ask(path, "memory", 0)
    assert (instant.duration_ns, instant.step) == (None, "ProfilerStep#1")
    assert instant.operator == Link("ops", 2, "aten::mm")
    assert ask(path, "launches", 0).operator == Link("ops", 2, "aten::mm")


def test_an_inferred_activity_has_no_record_but_an_operator(tmp_path: Path) -> None:
    trace_files.trace(tmp_path / "r" / "w.1.pt.trace.json")
    trace_files.sidecar(tmp_path / "r" / "w.1.kernel_event.json")
    found = ask(tmp_path / "r" / "w.1.pt.trace.json", "kernels", 0)
    assert (found.record, found.cut) == (None, False)
    assert found.evidence != "measured"
    assert found.operator is not None
    operator = ask(tmp_path / "r" / "w.1.pt.trace.json", "ops", found.operator.row)
    assert operator.elapsed_ns == 30_000


@pytest.mark.parametrize("row", [-1, 1, 2**62])
def test_rows_that_are_not_there(tmp_path: Path, row: int) -> None:
    path = write(tmp_path, *some())
    with pytest.raises(TraceError, match=r"no row -?\d+ in kernels") as caught:
        ask(path, "kernels", row)
    assert (caught.value.code, caught.value.hint) == ("unknown_row", "Its rows are 0 to 0.")


def test_nothing_of_the_metadata_is_shown(tmp_path: Path) -> None:
    path = write(tmp_path, *some(), token="s3cret", deviceProperties=[{"name": "d", "k": "s3cret"}])
    for table, rows in (("ops", 3), ("frames", 1), ("launches", 1), ("kernels", 1), ("memory", 1)):
        for row in range(rows):
            assert "s3cret" not in repr(ask(path, table, row))  # type: ignore[arg-type]


def test_a_record_is_bounded_and_says_so(tmp_path: Path) -> None:
    path = write(tmp_path, make.op("a", 0, 1, id=1, **{"Call stack": "f;" * 500_000}))
    found = ask(path, "ops", 0)
    assert found.record is not None
    assert (len(found.record), found.cut) == (LONGEST, True)


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    path = write(tmp_path, make.op(MARKUP, 0, 1, id=1, note="\x1b[2J" + MARKUP))
    found = ask(path, "ops", 0)
    assert found.record is not None
    assert json.loads(found.record)["args"]["note"] == "\x1b[2J" + MARKUP
    assert "\x1b" not in found.record


@pytest.mark.parametrize("change", ["replaced", "deleted"])
def test_a_file_that_changes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = write(tmp_path, *some())
    reader = READERS[0]

    def late(*asked: Any) -> Any:
        if change == "deleted":
            path.unlink()
            return reader.record(*asked)
        found = reader.record(*asked)
        write(tmp_path, *some(), make.op("more", 200, 300))
        return found

    replaced = replace(reader, record=late)
    monkeypatch.setattr(readers, "reader_named", lambda _: replaced)
    with pytest.raises(TraceError, match=r"^w\.1\.pt\.trace\.json changed") as caught:
        ask(path, "kernels", 0)
    assert caught.value.code == "changed"
    assert str(tmp_path) not in f"{caught.value.message} {caught.value.hint}"


def test_a_file_that_changed_before_is_another_trace(tmp_path: Path) -> None:
    path = write(tmp_path, *some())
    store, files = Store(jobs=0), catalog.scan(str(path.parent), READERS).find()
    assert read_record(*store.open(files), table="kernels", row=0).name == "gemm"
    write(tmp_path, make.op("new", 0, 10), make.kernel("other", 5, 60))
    found = read_record(*store.open(files), table="kernels", row=0)
    assert found.record is not None
    assert (found.name, json.loads(found.record)["name"]) == ("other", "other")


def test_in_python(tmp_path: Path) -> None:
    write(tmp_path, *some())
    log = tbp.open(tmp_path)
    found = log.event("kernels", 0, run="r")
    assert found.record is not None
    assert json.loads(found.record)["args"]["grid"] == [1, 2, 3]
    with pytest.raises(TraceError, match="table must be one of ops, frames"):
        log.event("strings", 0)  # type: ignore[arg-type]
