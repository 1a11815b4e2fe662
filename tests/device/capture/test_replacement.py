"""Frameworks that construct torch's profiler themselves record with ours."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import profile as imported_before
from torch.profiler.profiler import profile as torch_profile

from tb_privateuse1 import capture
from tb_privateuse1.capture import backend, profiler
from tests.support.capture import read, train, written
from tests.support.on_device import device

pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Other tests may have loaded the reference device into this process."""
    monkeypatch.setattr(backend, "is_current", lambda: False)
    capture.install()
    yield
    capture.uninstall()


def names(made: Any) -> set[str]:
    return set(inspect.signature(made).parameters)


def test_the_signature_has_torchs_arguments_and_ours() -> None:
    """Frameworks leave out what they do not find there."""
    theirs = names(torch_profile.__init__)
    assert {"schedule", "on_trace_ready", "with_stack"} < theirs
    limits = {"max_events", "max_bytes", "max_seconds"}
    assert names(capture.profile.__init__) == theirs | {"route", "prime_ms"} | limits
    assert names(capture.profile) == names(capture.profile.__init__) - {"self"}
    inspect.signature(capture.profile).bind(schedule=None, route="torch")


@pytest.mark.usefixtures("installed")
def test_torchs_name_constructs_ours_whenever_it_was_imported() -> None:
    capture.install()  # again
    for made in (imported_before, torch.profiler.profile, torch_profile):
        prof = train(made, record_shapes=True)
        assert type(prof) is capture.profile
        assert prof.record_shapes is True
        assert prof.step_num == 7
    assert names(imported_before) == names(torch_profile.__init__) - {"self"}
    with pytest.raises(TypeError):
        torch_profile(no_such_option=True)  # type: ignore[call-arg]


@pytest.mark.usefixtures("installed")
def test_a_subclass_of_torchs_stays_what_it_is() -> None:
    class Theirs(torch_profile):
        pass

    assert type(train(Theirs)) is Theirs
    assert type(train(capture.profile)) is capture.profile


def test_uninstalled_it_is_torchs_again() -> None:
    capture.install()
    capture.uninstall()
    assert type(train(torch_profile, with_modules=True)) is torch_profile


@pytest.mark.usefixtures("installed")
def test_torchs_handler_writes_as_before_on_the_cpu(tmp_path: Path) -> None:
    handler = torch.profiler.tensorboard_trace_handler(str(tmp_path), "me")
    train(torch_profile, on_trace_ready=handler)
    assert [path.name.split(".")[0] for path in written(tmp_path)] == ["me", "me"]
    assert read(written(tmp_path)[0])["traceEvents"]


def test_torchs_handler_writes_the_sidecar_on_a_device(tmp_path: Path) -> None:
    done = device(
        tmp_path,
        """
import os
from torch.profiler import profile, tensorboard_trace_handler
capture.install()
prof = train(make=profile, on_trace_ready=tensorboard_trace_handler("theirs", use_gzip=True))
by_hand = train(make=profile, activities=[A.CPU, A.CUDA])
os.mkdir("by_hand")
by_hand.export_chrome_trace("by_hand/x.pt.trace.json")
answer = {"route": prof.route, "codes": codes(prof) + codes(by_hand)}
""",
    )
    assert done.answer == {"route": "events", "codes": ["device-activity-added"]}
    assert len(done.traces("theirs")) == len(done.sidecars("theirs")) == 2
    for trace in (*done.traces("theirs"), *done.traces("by_hand")):
        sidecar = read(capture.sidecar_path(trace))
        rows = {e["args"].get("External id") for e in read(trace)["traceEvents"] if "args" in e}
        assert set(sidecar["external_id"]) <= rows
        assert any(sidecar["elapsed_us"])


def test_a_sidecar_that_cannot_be_written_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    prof = train(capture.profile)
    monkeypatch.setattr(profiler, "device_part", lambda _: {"schema": "any"})
    monkeypatch.setattr(profiler.output_files, "write_json", no_room)
    with pytest.warns(capture.CaptureWarning, match=r"\[disk-full\]"):
        prof.export_chrome_trace(str(tmp_path / "a.pt.trace.json"))
    assert [path.name for path in written(tmp_path)] == ["a.pt.trace.json"]
