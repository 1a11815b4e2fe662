"""No failure of disk, torch, vendor or handler reaches the user's training."""

from __future__ import annotations

import errno
import os
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from torch.profiler.profiler import profile as torch_profile

from tb_privateuse1 import capture
from tb_privateuse1.capture import backend, output_files, profiler
from tb_privateuse1.capture.warnings import CaptureWarning
from tests.support import warm_python
from tests.support.capture import CPU, read, train, written

pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    handler = capture.tensorboard_trace_handler(str(tmp_path))
    with pytest.warns(CaptureWarning, match=r"\[disk-full\]") as caught:
        prof = train(capture.profile, on_trace_ready=handler)
    assert len([w for w in caught if w.category is CaptureWarning]) == 2  # in every cycle
    assert prof.step_num == 7
    assert written(tmp_path) == []


def test_a_trace_that_kineto_silently_cut_off(tmp_path: Path) -> None:
    script = f"""
import resource, signal, torch
from tb_privateuse1 import capture
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
handler = capture.tensorboard_trace_handler({str(tmp_path)!r})
with capture.profile(activities=[torch.profiler.ProfilerActivity.CPU], on_trace_ready=handler):
    for _ in range(200):
        torch.ones(8).add(1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY))
print("trained")
"""
    done = warm_python.run(warm_python.TORCH, ["-c", script], timeout=120)
    assert done.returncode == 0, done.stderr
    assert "trained" in done.stdout
    assert "[write-failed]" in done.stderr
    assert "incomplete" in done.stderr
    assert written(tmp_path) == []


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    handler = capture.tensorboard_trace_handler(str(tmp_path / "file" / "log"))
    with pytest.warns(CaptureWarning, match=r"\[write-failed\]"):
        prof = train(capture.profile, on_trace_ready=handler)
    assert prof.step_num == 7


def test_no_sidecar_is_left_without_its_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "me.1.pt.trace.json"
    move = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if target == trace:
            assert (tmp_path / "me.1.kernel_event.json").exists()
            raise OSError(errno.EDQUOT, "quota")
        return move(self, target)

    monkeypatch.setattr(Path, "replace", replace)

    def export(to: Path) -> None:
        to.write_text("{}")

    with pytest.raises(OSError, match="quota"):
        output_files.write_pair(trace, export, {"a": 1})
    assert written(tmp_path) == []


def test_a_handler_that_raises(tmp_path: Path) -> None:
    def handler(_: Any) -> None:
        raise LookupError("mine")

    with pytest.warns(CaptureWarning, match=r"\[handler-failed\].*LookupError: mine") as caught:
        prof = train(capture.profile, on_trace_ready=handler)
    assert len([w for w in caught if w.category is CaptureWarning]) == 2
    assert prof.step_num == 7


def test_an_exporter_with_a_vendors_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = torch_profile.export_chrome_trace

    def vendors(self: Any, path: str) -> None:
        original(self, path)

    monkeypatch.setattr(torch_profile, "export_chrome_trace", vendors)
    handler = capture.tensorboard_trace_handler(str(tmp_path), use_python_export=True)
    with pytest.warns(CaptureWarning, match=r"\[export-replaced\]"):
        train(capture.profile, on_trace_ready=handler)
    assert len([read(path) for path in written(tmp_path)]) == 2


@pytest.mark.parametrize("half", [False, True])
def test_an_exporter_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: bool
) -> None:
    def broken(self: Any, path: str) -> None:
        if not half:
            raise KeyError("vendor")
        Path(path).write_text('{"traceEvents": [')

    monkeypatch.setattr(torch_profile, "export_chrome_trace", broken)
    handler = capture.tensorboard_trace_handler(str(tmp_path))
    with pytest.warns(CaptureWarning, match=r"\[export-replaced\]"):
        train(capture.profile, on_trace_ready=handler)
    assert len([read(path) for path in written(tmp_path)]) == 2


def test_device_times_that_cannot_be_read_cost_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def moved(*_: Any) -> None:
        raise AttributeError("events")

    def handler(prof: Any) -> None:
        prof.route = "events"
        capture.tensorboard_trace_handler(str(tmp_path))(prof)
        prof.route = "torch"

    monkeypatch.setattr(profiler, "build", moved)
    with pytest.warns(CaptureWarning, match=r"\[sidecar-failed\].*AttributeError"):
        train(capture.profile, on_trace_ready=handler)
    assert len([read(path) for path in written(tmp_path)]) == 2


def test_torchs_tables_may_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stop = torch_profile.stop_trace

    def failing(self: Any) -> None:
        stop(self)
        raise RuntimeError("two devices")

    def unable() -> None:
        raise RuntimeError("the backend has no synchronize")

    monkeypatch.setattr(torch_profile, "stop_trace", failing)
    monkeypatch.setattr(backend, "synchronize", unable)
    handler = capture.tensorboard_trace_handler(str(tmp_path))
    prof = capture.profile(activities=[CPU], on_trace_ready=handler)
    prof.start()
    prof.route = "events"
    with pytest.warns(CaptureWarning) as caught:
        prof.stop()
    codes = [
        str(warning.message).partition("]")[0]
        for warning in caught
        if warning.category is CaptureWarning
    ]
    assert codes == ["[no-synchronize", "[tables-failed", "[no-elapsed"]
    assert len(written(tmp_path)) == 2


def test_a_native_profiler_that_records_nothing(tmp_path: Path) -> None:
    def handler(prof: Any) -> None:
        prof.route = "native"
        capture.tensorboard_trace_handler(str(tmp_path))(prof)

    with pytest.warns(CaptureWarning, match=r"\[native-empty\]"):
        train(capture.profile, on_trace_ready=handler)
    assert len(written(tmp_path)) == 2


def test_an_exporter_that_leaves_nothing_to_save(tmp_path: Path) -> None:
    def handler(prof: Any) -> None:
        prof.export_chrome_trace(str(tmp_path / "first.json"))
        capture.tensorboard_trace_handler(str(tmp_path))(prof)

    with pytest.warns(CaptureWarning, match=r"\[export-failed\].*already saved"):
        train(capture.profile, steps=3, on_trace_ready=handler)
    assert [path.name for path in written(tmp_path)] == ["first.json"]


def test_warnings_as_errors_cost_no_file(tmp_path: Path) -> None:
    def handler(prof: Any) -> None:
        prof.notes.add("code", "message")
        capture.tensorboard_trace_handler(str(tmp_path))(prof)

    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptureWarning)
        with pytest.raises(CaptureWarning, match="message"):
            train(capture.profile, steps=3, on_trace_ready=handler)
    assert len(written(tmp_path)) == 1


def test_every_code_is_documented() -> None:
    root = Path(capture.__file__).parent
    sources = [*root.rglob("*.py")]
    noted = re.compile(r'(?:\.add\(|\.renew\(|\._lose\(|return )\s*"([a-z]+-[a-z-]+)"')
    warned = re.compile(r'f"\[([a-z-]+)\] ')
    texts = [path.read_text() for path in sources]
    codes = {code for text in texts for code in (*noted.findall(text), *warned.findall(text))}
    table = (
        (root.parents[1] / "docs" / "guide" / "capture.md").read_text().partition("## Warnings")[2]
    )
    assert codes == set(re.findall(r"^\| `([a-z-]+)` \|", table, flags=re.MULTILINE))
    assert len(codes) == 47
