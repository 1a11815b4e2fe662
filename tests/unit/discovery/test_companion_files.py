"""Execution traces beside traces: found by their first bytes, and given to their process."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import tb_privateuse1 as tbp
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tests.support import execution_traces, make
from tests.support.execution_traces import node, tensor


def trace(path: Path, pid: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    event = make.op("aten::mm", 0, 10, id=4, **{"Record function id": 3})
    path.write_text(json.dumps(make.document({**event, "pid": pid})))


def execution_trace(path: Path, pid: int, name: str = "aten::mm") -> None:
    text = execution_traces.text(node(3, name, [tensor(7, 2, 3)]), pid=pid).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def parts(log: Path) -> dict[int, list[str]]:
    files = catalog.scan(str(log), READERS).files
    return {rank: [part.name for part in found.parts] for (_, rank, _), found in files.items()}


@pytest.mark.parametrize("name", ["any.json", "h.et.json.gz", "execution_trace_7.json"])
def test_an_execution_trace_is_part_of_its_process_and_no_run(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    trace(log / "rank0.pt.trace.json", 70)
    trace(log / "rank1.pt.trace.json", 71)
    execution_trace(log / name, 71)
    (log / "configuration.json").write_text('{"schema": "1.0", "pid": 71, "edges": []}')
    expected = [] if "_7." in name else [name]
    assert parts(log) == {0: [], 1: expected}
    opened = tbp.open(log)
    assert opened.trace(opened.runs.runs[0].run, 1).meta.files[1:] == tuple(expected)


def test_processes_of_one_number_are_told_apart_by_the_rank_in_names(tmp_path: Path) -> None:
    for rank in (0, 1):
        trace(tmp_path / f"rank{rank}.pt.trace.json", 1)
        execution_trace(tmp_path / f"et_rank{rank}.json", 1)
    assert parts(tmp_path) == {0: ["et_rank0.json"], 1: ["et_rank1.json"]}


def test_a_packed_copy_is_the_same_file(tmp_path: Path) -> None:
    trace(tmp_path / "h_1.pt.trace.json", 1)
    execution_trace(tmp_path / "et.json", 1)
    execution_trace(tmp_path / "et.json.gz", 1)
    assert parts(tmp_path) == {0: ["et.json"]}


def test_a_single_trace_has_its_execution_trace(tmp_path: Path) -> None:
    trace(tmp_path / "h_1.pt.trace.json", 1)
    trace(tmp_path / "h_2.pt.trace.json", 1)
    execution_trace(tmp_path / "et.json", 1)
    execution_trace(tmp_path / "other.json", 9)
    assert parts(tmp_path / "h_1.pt.trace.json") == {0: ["et.json"]}


def test_a_trace_is_read_again_with_an_execution_trace_that_comes_later(tmp_path: Path) -> None:
    log = tmp_path / "log"
    trace(log / "h_1.pt.trace.json", 1)
    assert not len(tbp.open(log).trace().tensors)
    execution_trace(log / "et.json", 1)
    assert len(tbp.open(log).trace().tensors) == 1
    execution_trace(log / "et.json", 1, "aten::bmm")
    later = tbp.open(log).trace()
    assert not len(later.tensors)
    assert "execution_trace_other" in [finding.code for finding in later.meta.findings]
