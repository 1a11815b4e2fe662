"""Folders of torch_npu: one recording in several files; each adds what the others lack."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import tb_privateuse1 as tbp
from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles, is_unchanged, refresh
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import disk_cache
from tb_privateuse1.trace.model import Trace
from tests.support import invariants
from tests.support.ascend import Program
from tests.support.listing import layout, only_run
from tests.support.trace_files import trace

STAMP, LATER = "20240102030405678", "20240102030505678"


def files_of(path: Path) -> TraceFiles:
    return catalog.scan(str(path), READERS).find()


def texts(trace: Trace, rows: np.ndarray) -> list[str]:
    return [trace.text(row) for row in rows.tolist()]


@pytest.mark.long
@pytest.mark.parametrize("forms", [("db",), ("json",), ("db", "json", "csv"), ("json", "csv")])
def test_a_folder_is_one_recording_whatever_it_has(tmp_path: Path, forms: tuple[str, ...]) -> None:
    Program().folder(tmp_path / "log", rank=3, forms=forms)
    assert layout(tmp_path / "log") == {"log": {3: [STAMP]}}
    run = tbp.open(tmp_path / "log")
    assert len(run.trace().kernels) == 10
    assert run.trace().meta.rank == 3
    assert run.trace().meta.world_size == 8
    assert set(run.trace().collectives.group_size.tolist()) == {8}
    assert set(run.trace().collectives.bytes.tolist()) == {2 << 20}


@pytest.mark.long
@pytest.mark.parametrize("forms", [("db",), ("json", "csv")])
def test_every_view_opens_and_every_sum_closes(tmp_path: Path, forms: tuple[str, ...]) -> None:
    Program(steps=4).folder(tmp_path / "log", rank=3, forms=forms)
    invariants.check(tbp.open(tmp_path / "log").trace())


def test_ranks_are_one_run_beside_other_traces(tmp_path: Path) -> None:
    for rank in (0, 1, 2):
        Program().folder(tmp_path / "log" / "ddp", rank=rank, worker=f"host_{rank}")
    trace(tmp_path / "log" / "ddp" / "cpu_9.1.pt.trace.json", rank=3)
    trace(tmp_path / "log" / "other" / "w.1.pt.trace.json")
    assert layout(tmp_path / "log") == {
        "ddp": {0: [STAMP], 1: [STAMP], 2: [STAMP], 3: ["1"]},
        "other": {0: ["1"]},
    }
    workers = catalog.scan(str(tmp_path / "log"), READERS).runs.runs[0].workers
    assert [w.worker for w in workers] == ["host_0", "host_1", "host_2", "cpu_9"]


def test_recordings_of_a_worker_are_its_spans(tmp_path: Path) -> None:
    for stamp in (LATER, STAMP):
        Program().folder(tmp_path / "r", worker="host_7", stamp=stamp)
    Program().folder(tmp_path / "r", worker="host_9", stamp="20240102040000")  # restarted
    assert layout(tmp_path) == {"r": {0: [STAMP, LATER, "20240102040000"]}}
    assert [w.code for w in only_run(tmp_path).warnings] == ["joined_workers"]


@pytest.mark.parametrize("below", [".", "ASCEND_PROFILER_OUTPUT"])
def test_the_folder_itself_may_be_the_logdir(tmp_path: Path, below: str) -> None:
    folder = Program().folder(tmp_path, rank=3)
    (run,) = layout(folder / below).values()
    assert list(run) == [3]


def test_a_copy_of_its_files_is_one_recording_too(tmp_path: Path) -> None:
    folder = Program().folder(tmp_path / "made", rank=2)
    shutil.copytree(folder / "ASCEND_PROFILER_OUTPUT", tmp_path / "log" / "mine")
    assert layout(tmp_path / "log") == {"mine": {2: ["default"]}}
    for rank in (0, 1):
        Program().database(tmp_path / "ranks" / f"ascend_pytorch_profiler_{rank}.db")
    assert layout(tmp_path / "ranks") == {"ranks": {0: ["default"], 1: ["default"]}}


def test_a_folder_of_the_toolkit_is_one_recording_too(tmp_path: Path) -> None:
    """It is written by msprof, alone or below the folder of torch_npu."""
    below = "PROF_000001_20240102030405678_ABCDEFGH"
    folder = Program().folder(tmp_path / "log")
    for place in (tmp_path / "own" / below, folder / below):
        Program().database(place / "msprof_20240102030500.db")
        Program().trace_view(place / "mindstudio_profiler_output" / "msprof_20240102030501.json")
    assert layout(tmp_path / "log") == {"log": {0: [STAMP]}}
    assert layout(tmp_path / "own") == {"own": {0: ["default"]}}
    assert files_of(tmp_path / "own").trace.name == "msprof_20240102030500.db"


def test_a_folder_of_raw_data_alone_is_no_recording(tmp_path: Path) -> None:
    folder = Program().folder(tmp_path / "log", forms=())
    (folder / "FRAMEWORK").mkdir()
    found = catalog.scan(str(tmp_path / "log"), READERS).runs
    assert found.runs == ()
    assert [f.code for f in found.warnings] == ["folder_without_events"]
    assert folder.name in found.warnings[0].message
    assert "analyse" in str(found.warnings[0].hint)
    Program().folder(tmp_path / "log", forms=(), stamp=LATER)
    Program().folder(tmp_path / "log", rank=1, worker="host_2")
    (warning,) = catalog.scan(str(tmp_path / "log"), READERS).runs.warnings
    assert (warning.count, str(warning.message).partition(" ")[0]) == (2, "2")


def test_a_broken_database_leaves_the_json(tmp_path: Path) -> None:
    folder = Program().folder(tmp_path / "log", rank=1)
    (folder / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_1.db").write_bytes(b"\0" * 5000)
    assert files_of(tmp_path / "log").trace.name == "trace_view.json"


@pytest.mark.long
def test_the_tables_add_unit_cores_and_memory_to_the_json(tmp_path: Path) -> None:
    Program().folder(tmp_path / "a", forms=("json", "csv"))
    Program().folder(tmp_path / "b", forms=("db",))
    text, database = (tbp.open(tmp_path / name).trace() for name in "ab")

    def units(one: Trace) -> list[tuple[str, str, str]]:
        known = np.flatnonzero(one.kernels.config >= 0)
        rows = [(one.text(one.kernels.name[i]), one.kernels.config[i]) for i in known]
        return sorted(
            (name, one.text(one.configs.unit[c]), one.text(one.configs.grid[c]))
            for name, c in rows if one.configs.grid[c] >= 0
        )  # fmt: skip

    assert units(text) == units(database)
    assert units(text)[0] == ("aclnnMm_MatMulV3_0", "AI_CORE", "[20,1,1]")
    for column in ("ts_ns", "bytes", "allocated_bytes", "reserved_bytes", "address"):
        mine, other = getattr(text.memory, column), getattr(database.memory, column)
        assert mine.tolist() == other.tolist(), column
    assert set(text.memory.device.tolist()) == set(text.lanes.device.tolist()) == {0}
    assert set(database.memory.device.tolist()) == set(database.lanes.device.tolist()) == {5}
    allocating = text.memory.bytes > 0
    for one in (text, database):
        assert set(texts(one, one.ops.name[one.memory.op[allocating]])) == {"aten::mm"}


def test_a_table_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    folder = Program().folder(tmp_path / "log", forms=("json", "csv"))
    table = folder / "ASCEND_PROFILER_OUTPUT" / "operator_memory.csv"
    table.write_text("Name,Size(KB)\na,1,2,3\nb\n")
    (folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").write_bytes(b"")
    (folder / "profiler_metadata.json").write_text("[1, 2")
    trace = tbp.open(tmp_path / "log").trace()
    found = [f for f in trace.meta.findings if f.code == "part_unreadable"]
    assert [str(f.message).partition(" ")[0] for f in found] == [
        "kernel_details.csv", "operator_memory.csv", "profiler_metadata.json",
    ]  # fmt: skip
    assert len(trace.kernels) == 10


def test_rows_of_blocks_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    folder = Program().folder(tmp_path / "log", forms=("json", "csv"))
    table = folder / "ASCEND_PROFILER_OUTPUT" / "operator_memory.csv"
    head, *rows = [line.split(",") for line in table.read_text().splitlines()]
    size, allocated, released = map(
        head.index, ("Size(KB)", "Allocation Time(us)", "Release Time(us)")
    )
    before = len(tbp.open(tmp_path / "log").trace().memory)
    rows[0][size] = "many"
    rows[1][released] = "1.000"
    rows[2][released] = f"{rows[2][released].strip()}x"
    rows[3][allocated] = "N/A"
    table.write_text("\n".join(",".join(row) for row in [head, *rows]))
    trace = tbp.open(tmp_path / "log").trace()
    [found] = [f for f in trace.meta.findings if f.code == "part_unreadable"]
    assert found.count == 4
    assert len(trace.memory) < before


def test_the_key_is_of_all_files_that_are_read(tmp_path: Path) -> None:
    folder = Program().folder(tmp_path / "log")
    files = files_of(tmp_path / "log")
    key = disk_cache.cache_key(files)
    table = folder / "ASCEND_PROFILER_OUTPUT" / "operator_memory.csv"
    table.write_text(table.read_text() + "\n")
    assert not is_unchanged(files)
    later = refresh(files)
    assert is_unchanged(later)
    assert disk_cache.cache_key(later) != key
    os.remove(table)
    assert len(refresh(files).parts) == len(files.parts) - 1
    assert "operator_memory.csv" in files.names


@pytest.mark.long
def test_a_folder_behind_a_url_is_one_recording_too(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    url = "memory://ascend/log"
    for rank in (0, 1):
        Program().folder(tmp_path / "log" / "ddp", rank=rank, worker=f"host_{rank}")
    trace(tmp_path / "log" / "ddp" / "zzz" / "w.1.pt.trace.json")
    memory = fsspec.filesystem("memory")
    try:
        memory.put(str(tmp_path / "log"), "/ascend/log", recursive=True)
        scanned = catalog.scan(url, READERS)
        assert {key[:2] for key in scanned.files} == {("ddp", 0), ("ddp", 1), ("ddp/zzz", 0)}
        read = tbp.open(url).trace("ddp", 1)
        assert (read.meta.reader, len(read.kernels), read.meta.rank) == ("ascend", 10, 1)
    finally:
        memory.store.clear()
