"""What an allocation that fails leaves: a report, a snapshot, and the open window."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import tb_privateuse1 as tbp
from tb_privateuse1 import capture
from tb_privateuse1.capture.out_of_memory import is_out_of_memory
from tests.support.on_device import device

HOST = """
import resource, sys, torch
from tb_privateuse1 import capture

held = torch.ones(3, 1 << 20)
with capture.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                     on_trace_ready=capture.tensorboard_trace_handler(sys.argv[1])) as prof:
    with capture.on_out_of_memory(sys.argv[1]):
        torch.ones(8).add(1)
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + (256 << 20), size + (256 << 20)))
        torch.ones(1 << 30)
"""


def reports(folder: Path) -> list[str]:
    return [path.read_text() for path in sorted(folder.glob("*.out_of_memory.txt"))]


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS") or sys.platform != "linux", reason="a limit")
def test_a_program_that_its_limit_ends_leaves_a_report_and_its_window(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HOST, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "allocate memory" in done.stderr
    (report,) = reports(tmp_path)
    assert "device: none" in report
    assert "The allocator does not list its blocks" in report
    assert "12,582,912  cpu torch.float32 [3, 1048576]" in report
    (trace,) = tmp_path.glob("*.pt.trace.json")
    operators = tbp.open(str(trace)).operators().rows
    assert "aten::add" in {row.name for row in operators}


_FAKE = """
import types, pickle
from tests.support.snapshots import Allocator, snapshot
allocator = Allocator()
allocator.allocate(4096, line=7, depth=1)
calls = []
def history(enabled="all"):
    calls.append(enabled)
def dump(path):
    calls.append("dump")
    pickle.dump(snapshot(allocator), open(path, "wb"))
torch.refdev.memory = types.SimpleNamespace(
    _record_memory_history=history, _dump_snapshot=dump, _snapshot=lambda: snapshot(allocator))
"""


def test_the_reference_device_leaves_its_snapshot(tmp_path: Path) -> None:
    """Its allocator refuses; a snapshot of torch's layout stands in for a history."""
    done = device(
        tmp_path,
        _FAKE
        + """
from tb_privateuse1 import capture
held = torch.ones(3, 5, device="refdev")
for ending in ("refused", "caught", "another"):
    try:
        with capture.on_out_of_memory("log"):
            if ending == "another":
                raise RuntimeError("no such thing")
            try:
                torch.empty(1 << 45, device="refdev")
            except torch.OutOfMemoryError:
                if ending != "caught":
                    raise
    except RuntimeError as error:
        answer[ending] = type(error).__name__
answer["calls"] = calls
""",
    )
    assert done.answer["refused"] == "OutOfMemoryError"
    assert done.answer["another"] == "RuntimeError"
    assert "caught" not in done.answer
    assert done.answer["calls"] == ["all", "dump", None, "all", None, "all", None]
    (report,) = reports(tmp_path / "log")
    assert "/work/model0.py:7 in layer0" in report
    assert "60  refdev:0 torch.float32 [3, 5]" in report
    (pickled,) = (tmp_path / "log").glob("*.memory_snapshot.pickle")
    rows = tbp.open(str(pickled)).memory().alive_functions
    assert [(row.function, row.bytes) for row in rows] == [("/work/model0.py:7 in layer0", 4096)]


def test_which_errors_are_of_memory() -> None:
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(torch.OutOfMemoryError("x"))
    assert is_out_of_memory(RuntimeError("NPU out of memory. Tried to allocate"))
    assert not is_out_of_memory(RuntimeError("shape mismatch"))
    assert not is_out_of_memory(ValueError("out of memory"))


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path, host_alone: None) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with (
        pytest.warns(capture.CaptureWarning, match="no-memory-report"),
        pytest.raises(MemoryError),
        capture.on_out_of_memory(blocked / "log"),
    ):
        raise MemoryError
