"""Files of a logdir that are recognized and are no recordings: the logdir says what each is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.catalog import Runs
from tb_privateuse1.readers import READERS
from tb_privateuse1.trace.errors import TraceError
from tests.support import execution_traces, make
from tests.support.execution_traces import node, tensor

EXECUTION_TRACE = execution_traces.text(node(3, "aten::mm", [tensor(7, 2, 3)]), pid=9)
STACKS = "train.py(1):_main;model.py(9):_forward 120\ntrain.py(1):_main 7\n"
KINDS = {
    "rank0_et.json": (EXECUTION_TRACE, "is an execution trace of torch", "Kineto trace"),
    "profiler_stacks.txt": (STACKS, "has collapsed stacks", "tb-privateuse1 stacks"),
    "flame.folded": (
        "main (a.py:1);read file 12\n",
        "has collapsed stacks",
        "tb-privateuse1 stacks",
    ),
    "memory.html": (
        '<html>\n<head><meta charset="utf-8" /><title>GPU Memory Timeline HTML</title></head>',
        "picture of torch's memory timeline",
        "raw.json.gz",
    ),
    "memory.json": ("[[1, 2], [[0, 1], [0, 2]]]", "sums by category", "raw.json.gz"),
    "a.json": ("version https://git-lfs.github.com/spec/v1\n", "pointer of Git LFS", "lfs pull"),
    "host.xplane.pb": ("\n\x10plane", "profile of XProf", "Open it with XProf"),
    "k.ncu-rep": ("NVR\0report", "report of Nsight Compute", "Nsight Compute"),
}


def runs(log: Path) -> Runs:
    return catalog.scan(str(log), READERS).runs


def warnings_of(log: Path) -> list[tuple[str, str | None]]:
    return [(w.message, w.hint) for w in runs(log).warnings if w.code == "other_files"]


def trace(path: Path, pid: int = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(make.document({**make.op("aten::mm", 0, 10), "pid": pid})))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_logdir_says_what_a_file_is(tmp_path: Path, name: str, is_packed: bool) -> None:
    text, what, hint = KINDS[name]
    content = text.encode()
    path = tmp_path / "sub" / (name + ".gz" * is_packed)
    path.parent.mkdir()
    path.write_bytes(gzip.compress(content) if is_packed else content)
    [(message, advice)] = warnings_of(tmp_path)
    assert message.startswith(f"sub/{path.name} ")
    assert what in message
    assert hint in (advice or "")
    found = catalog.scan(str(tmp_path), READERS)
    with pytest.raises(TraceError, match=what) as caught:
        found.find()
    assert caught.value.hint == advice


def test_what_a_recording_is_read_with_needs_no_word(tmp_path: Path) -> None:
    trace(tmp_path / "h_9.pt.trace.json", pid=9)
    for name in ("et.json", "et.json.gz"):
        data = EXECUTION_TRACE.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("z") else data)
    assert warnings_of(tmp_path) == []


def test_an_execution_trace_of_no_recording_is_a_warning(tmp_path: Path) -> None:
    trace(tmp_path / "h_1.pt.trace.json", pid=1)
    (tmp_path / "et.json").write_text(EXECUTION_TRACE)
    assert len(runs(tmp_path).runs) == 1
    assert [message for message, _ in warnings_of(tmp_path)] == [
        "et.json is an execution trace of torch: it has no times."
    ]


def test_files_of_a_kind_are_one_finding(tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"et{i}.json").write_text(EXECUTION_TRACE)
    (tmp_path / "stacks.txt").write_text(STACKS)
    assert [w.count for w in runs(tmp_path).warnings] == [3, 1]
    assert "Files of this kind: 3." in warnings_of(tmp_path)[0][0]


@pytest.mark.parametrize(
    "text", ["", "a note\n", "loss 3\nloss 4\n", "a;b c\n", "a; 3\n", "<html><head></head></html>"]
)
@pytest.mark.parametrize("name", ["notes.txt", "page.html", "notes.json"])
def test_other_files_cause_no_warning(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert runs(tmp_path).warnings == ()
