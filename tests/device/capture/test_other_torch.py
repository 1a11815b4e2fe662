"""What other versions of torch lack, or do otherwise, costs no recording."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.profiler.profiler import profile as torch_profile

from tb_privateuse1 import capture
from tb_privateuse1.capture import backend, result_rows
from tests.support.capture import read, train, written

pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")


class LateExport(torch_profile):
    """Writes a trace as torch 2.15 does with ``cuspy_async_export``: when it is waited for."""

    waits: list[threading.Event]

    def export_chrome_trace(self, path: str, *args: Any, **options: Any) -> None:
        allowed = threading.Event()
        export = super().export_chrome_trace

        def write() -> None:
            allowed.wait()
            export(path, *args, **options)

        self.allowed, self.writer = allowed, threading.Thread(target=write)
        self.writer.start()

    def wait_for_exports(self) -> None:
        self.allowed.set()
        self.writer.join()


@pytest.mark.parametrize("zipped", [False, True])
def test_a_trace_that_a_thread_writes_is_whole(tmp_path: Path, zipped: bool) -> None:
    handler = capture.tensorboard_trace_handler(str(tmp_path), use_gzip=zipped)
    train(LateExport, on_trace_ready=handler)
    assert len(written(tmp_path)) == 2
    for path in written(tmp_path):
        assert any(event.get("name") == "aten::add" for event in read(path)["traceEvents"])


def test_times_of_rows_before_torch_2_4() -> None:
    old = SimpleNamespace(start_us=lambda: 5, duration_us=lambda: 7)
    new = SimpleNamespace(start_ns=lambda: 5_001, duration_ns=lambda: 7_002)
    assert [result_rows.start_ns(row) for row in (old, new)] == [5_000, 5_001]
    assert [result_rows.duration_ns(row) for row in (old, new)] == [7_000, 7_002]


def test_without_the_accelerator_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before torch 2.6: the backend's own module is asked."""
    waits: list[str] = []
    module = SimpleNamespace(
        is_available=lambda: bool(waits.append("asked")) or True,
        synchronize=lambda: waits.append("waited"),
    )
    monkeypatch.delattr(torch, "accelerator")
    monkeypatch.setattr(torch, "other", module, raising=False)
    monkeypatch.setattr(backend, "backend_name", lambda: "other")
    assert backend.is_current()
    backend.synchronize()
    assert waits == ["asked", "waited"]


def test_a_synchronize_that_returns_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of torch 2.6, for a backend whose module has no ``_lazy_init``."""
    waits: list[str] = []
    stream = SimpleNamespace(synchronize=lambda: waits.append("stream"))
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda: waits.append("nothing"))
    monkeypatch.setattr(torch.accelerator, "current_stream", lambda: stream)
    backend.synchronize()
    assert waits == ["nothing", "stream"]


def test_a_backend_that_waits_for_streams_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """As mycelya-torch: neither torch nor the backend's module can wait for its device."""

    def fail() -> None:
        raise RuntimeError("Backend doesn't support synchronizing all streams on device.")

    waits: list[str] = []
    stream = SimpleNamespace(synchronize=lambda: waits.append("stream"))
    monkeypatch.setattr(torch.accelerator, "synchronize", fail)
    monkeypatch.setattr(torch.accelerator, "current_stream", lambda: stream)
    monkeypatch.setattr(torch, "other", SimpleNamespace(), raising=False)
    monkeypatch.setattr(backend, "backend_name", lambda: "other")
    backend.synchronize()
    assert waits == ["stream"]
    monkeypatch.setattr(torch.accelerator, "current_stream", fail)
    with pytest.raises(RuntimeError, match="all streams on device"):
        backend.synchronize()


def test_a_backend_without_streams_can_be_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Any:
        raise RuntimeError("Backend doesn't support streams.")

    monkeypatch.setattr(torch.accelerator, "synchronize", lambda: None)
    monkeypatch.setattr(torch.accelerator, "current_stream", none)
    backend.synchronize()


@pytest.mark.parametrize("removed", ["name", "state", "elapsed"])
def test_without_an_internal_the_host_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: str
) -> None:
    """A later torch may have none of them: the run goes on, and a note names what lacks."""
    monkeypatch.setattr(backend, "has_native_profiler", lambda: False)
    monkeypatch.setattr(backend, "has_stubs", lambda: True)
    if removed == "name":
        monkeypatch.delattr(torch._C, "_get_privateuse1_backend_name")
        assert backend.backend_name() == backend.UNNAMED
        code = "not-renamed"
    else:
        monkeypatch.setattr(backend, "backend_name", lambda: "other")
        code = "torch-changed"
    if removed == "state":
        monkeypatch.setattr(backend, "FALLBACK", None)
    if removed == "elapsed":
        monkeypatch.setattr(backend, "KINETO_EVENT", object)
    with pytest.warns(capture.CaptureWarning, match=rf"\[{code}\]"):
        prof = capture.profile(
            route="events", on_trace_ready=capture.tensorboard_trace_handler(str(tmp_path))
        )
    assert prof.route == "torch"
    assert list(prof.notes.found) == [code]
