"""Kernels that the capture plants behind a window with steps, and what the host saw of them."""

from __future__ import annotations

from pathlib import Path

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers.sidecar import read_sidecar
from tests.support.capture import read
from tests.support.on_device import Done, device

SCRIPT = """
torch.set_num_threads(1)
x = torch.randn(64, 64).to("refdev")
with capture.profile(schedule=schedule(wait=0, warmup=1, active=3, repeat=1),
                     on_trace_ready=log("steps")) as prof:
    for _ in range(4):
        (x @ x).sum()
        prof.step()
answer["codes"] = codes(prof)
with capture.profile(on_trace_ready=log("whole")):
    (x @ x).sum()
"""


_TRIES = 5


def recorded_with_rows(folder: Path) -> Done:
    """Record until the host had the time: one that is busy plants nothing."""
    for attempt in range(_TRIES):
        (folder / str(attempt)).mkdir()
        done = device(folder / str(attempt), SCRIPT)
        if read(done.sidecars("steps")[0])["self_test"]:
            return done
    raise AssertionError(f"nothing was planted in any of {_TRIES} recordings")


def test_planted_kernels_are_timed_and_not_the_programs(tmp_path: Path) -> None:
    done = recorded_with_rows(tmp_path)
    assert done.answer["codes"] == []
    (steps,) = done.sidecars("steps")
    rows = read(steps)["self_test"]
    assert [count for count, _, _ in rows] == [1] * 5 + [8] * 3
    assert all(taken > waited >= 0 for _, taken, waited in rows)
    raw = chrome.read(str(done.traces("steps")[0]))
    trace = inference.build_trace(raw, read_sidecar(str(steps)))
    assert "aten::mul_" in {trace.text(name) for name in trace.ops.name}
    assert "aten::mul_" not in {trace.text(name) for name in trace.kernels.name}
    assert "self_test_failed" not in {one.code for one in trace.meta.findings}


def test_a_recording_without_steps_has_none(tmp_path: Path) -> None:
    done = device(tmp_path, SCRIPT)
    (whole,) = done.sidecars("whole")
    assert read(whole)["self_test"] == []
    assert "tb_privateuse1::self_test" not in done.traces("whole")[0].read_text()
