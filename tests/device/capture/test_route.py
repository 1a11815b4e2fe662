"""Which route a run takes, and what capture asks of torch to decide."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity

from tb_privateuse1 import capture
from tb_privateuse1.capture import backend, native_probe, route
from tb_privateuse1.capture.native_probe import Found
from tb_privateuse1.capture.warnings import Notes
from tests.support import warm_python
from tests.support.capture import CPU, PRIVATEUSE1

UNTRIED = Found(None, "another profiler was running")


@pytest.mark.parametrize(
    ("activities", "wanted", "facts", "expected", "codes"),
    [
        ([CPU], "auto", {}, "torch", []),
        (None, "auto", {"current": False}, "torch", []),
        (None, "auto", {}, "events", []),
        ([CPU, PRIVATEUSE1], "auto", {}, "events", []),
        ([CPU, {PRIVATEUSE1: []}], "auto", {}, "events", []),
        ([CPU, PRIVATEUSE1], "torch", {}, "torch", []),
        ([CPU], "events", {}, "events", []),
        ([PRIVATEUSE1], "auto", {}, "events", ["cpu-activity-added"]),
        ([PRIVATEUSE1], "auto", {"native": True}, "native", []),
        ([CPU, PRIVATEUSE1], "auto", {"native": True, "tried": Found(True)}, "native", []),
        ([CPU, PRIVATEUSE1], "events", {"native": True}, "events", []),
        ([CPU, PRIVATEUSE1], "native", {}, "native", []),
        ([CPU, PRIVATEUSE1], "auto", {"native": None, "stubs": None}, "events", []),
        ([CPU, PRIVATEUSE1], "auto", {"stubs": False}, "torch", ["no-stubs"]),
        ([PRIVATEUSE1], "auto", {"stubs": False}, "torch", ["no-stubs", "cpu-activity-added"]),
        ([CPU, PRIVATEUSE1], "auto", {"missing": "x"}, "torch", ["torch-changed"]),
        ([CPU, PRIVATEUSE1], "auto", {"tried": Found(True)}, "native", []),
        ([CPU, PRIVATEUSE1], "auto", {"stubs": False, "tried": Found(True)}, "native", []),
        ([CPU, PRIVATEUSE1], "auto", {"missing": "x", "tried": Found(True)}, "native", []),
        ([CPU, PRIVATEUSE1], "auto", {"tried": UNTRIED}, "events", ["route-untried"]),
        (
            [CPU, PRIVATEUSE1],
            "auto",
            {"stubs": False, "tried": UNTRIED},
            "torch",
            ["route-untried", "no-stubs"],
        ),
        ([CPU, PRIVATEUSE1], "auto", {"native": True, "tried": Found(False)}, "events", []),
        (
            [CPU, PRIVATEUSE1],
            "auto",
            {"native": True, "tried": UNTRIED},
            "native",
            ["route-untried"],
        ),
        # Nothing else could be recorded, so that nothing is tried.
        *(
            ([CPU, PRIVATEUSE1], "auto", {"native": True, "tried": None} | other, "native", [])
            for other in ({"stubs": False}, {"missing": "x"})
        ),
        ([PRIVATEUSE1], "auto", {"native": True, "tried": None}, "native", []),
        ([CPU, PRIVATEUSE1], "native", {"tried": None}, "native", []),
        ([CPU, PRIVATEUSE1], "events", {"tried": None}, "events", []),
        ([CPU, PRIVATEUSE1], "auto", {"name": "privateuseone"}, "torch", ["not-renamed"]),
        ([CPU, ProfilerActivity.CUDA], "events", {}, "torch", []),
        ([CPU, ProfilerActivity.XPU, PRIVATEUSE1], "auto", {}, "torch", ["other-accelerator"]),
        ([CPU, ProfilerActivity.CUDA], "auto", {}, "torch", ["other-accelerator"]),
        ([CPU, ProfilerActivity.CUDA], "auto", {"current": False}, "torch", []),
    ],
)
def test_the_route(
    monkeypatch: pytest.MonkeyPatch,
    activities: list[Any] | None,
    wanted: Any,
    facts: dict[str, Any],
    expected: str,
    codes: list[str],
) -> None:
    given = {"name": "openreg", "current": True, "native": False, "stubs": True, "missing": None}
    given |= {"tried": Found(False)} | facts
    monkeypatch.setattr(backend, "backend_name", lambda: given["name"])
    monkeypatch.setattr(backend, "is_current", lambda: given["current"])
    monkeypatch.setattr(backend, "has_native_profiler", lambda: given["native"])
    monkeypatch.setattr(backend, "has_stubs", lambda: given["stubs"])
    monkeypatch.setattr(backend, "missing_internals", lambda: given["missing"])
    monkeypatch.setattr(native_probe, "records_device", lambda *_: given["tried"])
    notes = Notes()
    plan = route.settle(route.choose(activities, wanted, notes), notes)
    assert plan.route == expected
    assert plan.reason
    assert not plan.open
    assert sorted(notes.found) == sorted(codes)
    if plan.device and plan.route != "native":
        assert plan.activities is not None
        assert CPU in plan.activities


@pytest.mark.parametrize(
    ("activities", "current", "expected", "codes"),
    [
        ([CPU], True, "events", ["device-activity-added"]),
        ([CPU, {ProfilerActivity.CUDA: []}], True, "events", ["device-activity-added"]),
        ([CPU, PRIVATEUSE1], True, "events", []),
        ([CPU, ProfilerActivity.CUDA], False, "torch", []),
        (None, True, "events", []),
    ],
)
def test_a_framework_knows_other_devices(
    monkeypatch: pytest.MonkeyPatch,
    activities: list[Any] | None,
    current: bool,
    expected: str,
    codes: list[str],
) -> None:
    monkeypatch.setattr(backend, "backend_name", lambda: "openreg")
    monkeypatch.setattr(backend, "is_current", lambda: current)
    for name, value in (("has_native_profiler", False), ("has_stubs", True)):
        monkeypatch.setattr(backend, name, lambda value=value: value)
    monkeypatch.setattr(backend, "missing_internals", lambda: None)
    notes = Notes()
    plan = route.choose(activities, "auto", notes, by_framework=True)
    assert (plan.route, list(notes.found)) == (expected, codes)
    if expected == "events":
        assert plan.activities == [CPU, PRIVATEUSE1]


def test_a_route_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="route must be"):
        capture.profile(route="fast")  # type: ignore[arg-type]


def test_torch_without_a_backend_is_understood() -> None:
    """In a process of its own: other tests load the reference device into this one."""
    code = """
from tb_privateuse1.capture import backend
assert backend.missing_internals() is None
assert not backend.is_current()
assert not backend.has_native_profiler()
assert not backend.has_stubs()
"""
    done = warm_python.run(warm_python.TORCH, ["-c", code], timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_torch_whose_internals_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(*, use_kineto: bool) -> object:
        return object()

    monkeypatch.setattr(backend, "autograd_profile", moved)
    assert backend.missing_internals() == "torch.autograd.profiler.profile.profiler_kind"
    monkeypatch.setattr(backend, "autograd_profile", lambda: None)
    assert "use_kineto" in str(backend.missing_internals())
    monkeypatch.setattr(backend, "torch_profile", object)
    assert backend.missing_internals() == "torch.profiler.profile.prepare_trace"
    monkeypatch.setattr(backend, "FALLBACK", None)
    assert "KINETO_PRIVATEUSE1_FALLBACK" in str(backend.missing_internals())


def test_libraries_that_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_symbol", lambda _: None)
    assert backend.has_native_profiler() is None
    assert backend.has_stubs() is None


def test_a_trial_waits_for_other_profilers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_probe, "_known", {})
    with torch.profiler.profile(activities=[CPU]):
        found = native_probe.records_device("openreg", None)
    assert found == Found(None, "another profiler was running")


def test_a_trial_that_fails_tells_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_probe, "_known", {})
    found = native_probe.records_device("no_such_backend", None)
    assert found.recorded is None
    assert "no_such_backend" in str(found.failed)


def test_a_registered_profiler_may_need_to_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_probe, "_known", {})
    windows = iter([False, True, False])
    monkeypatch.setattr(native_probe, "_recorded", lambda _: next(windows))
    assert native_probe.records_device("registered", True) == Found(True)
    assert native_probe.records_device("registered", True) == Found(True)
    assert native_probe.records_device("silent", False) == Found(False)
