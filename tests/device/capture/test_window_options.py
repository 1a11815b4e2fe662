"""Shapes and stacks in some windows only, and a memory snapshot beside the trace."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tb_privateuse1 import capture
from tb_privateuse1.capture.warnings import Notes
from tb_privateuse1.capture.window_options import MemorySnapshot
from tests.support.capture import CPU, read, written
from tests.support.on_device import device

pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")


def test_shapes_and_stacks_in_every_nth_window(tmp_path: Path) -> None:
    handler = capture.tensorboard_trace_handler(str(tmp_path))
    cycles = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=4)
    with capture.profile(
        activities=[CPU], schedule=cycles, on_trace_ready=handler, shapes_every=2, stacks_every=3
    ) as prof:
        for _ in range(8):
            torch.ones(8).add(1)
            prof.step()
    traces = [read(path) for path in written(tmp_path)]
    assert ["record_shapes" in trace for trace in traces] == [True, False, True, False]
    assert ["with_stack" in trace for trace in traces] == [True, False, False, True]
    shaped = [any("Input Dims" in e.get("args", {}) for e in t["traceEvents"]) for t in traces]
    assert shaped == [True, False, True, False]


@pytest.mark.parametrize("bad", [{"shapes_every": 0}, {"stacks_every": 1.5}])
def test_every_nth_is_a_whole_number(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        capture.profile(activities=[CPU], **bad)


_FAKE = """
import types
calls = []
def history(enabled="all"):
    calls.append(enabled)
def dump(path):
    calls.append("dump")
    open(path, "w").write("history")
torch.refdev.memory = types.SimpleNamespace(
    _record_memory_history=history, _dump_snapshot=dump)
"""


def test_a_snapshot_stands_beside_each_trace(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        _FAKE
        + """
prof = train(on_trace_ready=log("run"), memory_snapshot=True)
train(steps=4, memory_snapshot=True,
      on_trace_ready=lambda prof: prof.export_chrome_trace("own.pt.trace.json"))
answer["calls"] = calls
answer["codes"] = codes(prof)
""",
    )
    assert done.answer["calls"] == ["all", "dump", None] * 3
    assert done.answer["codes"] == []
    names = sorted(path.name for path in (tmp_path / "run").iterdir())
    stems = [path.name.removesuffix(".pt.trace.json") for path in done.traces("run")]
    assert [f"{stem}.memory_snapshot.pickle" for stem in stems] == [
        name for name in names if name.endswith(".pickle")
    ]
    assert (tmp_path / "own.memory_snapshot.pickle").read_text() == "history"


def test_a_device_without_history_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    for of, said in ((None, "no device"), ("npu", "_record_memory_history()")):
        notes = Notes()
        MemorySnapshot(True).start(of, notes)
        assert said in notes.found["no-memory-snapshot"]
    notes = Notes()
    MemorySnapshot(False).start(None, notes)
    assert notes.found == {}


def test_a_snapshot_that_fails_costs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken")

    memory = SimpleNamespace(_record_memory_history=lambda **_: None, _dump_snapshot=fail)
    monkeypatch.setattr(torch, "npu", SimpleNamespace(memory=memory), raising=False)
    notes = Notes()
    tested = MemorySnapshot(True)
    tested.start("npu", notes)
    tested.write(tmp_path / "a.pt.trace.json", notes)
    assert "broken" in notes.found["no-memory-snapshot"]
    assert list(tmp_path.iterdir()) == []
    memory._record_memory_history = fail
    tested.stop(notes)
    tested.start("npu", notes)
    tested.write(tmp_path / "a.pt.trace.json", notes)
    assert list(tmp_path.iterdir()) == []
