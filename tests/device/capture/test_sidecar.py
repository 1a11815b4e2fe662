"""Calibration, the sidecar's contents, and what is said of times that cannot be right."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tb_privateuse1 import capture
from tb_privateuse1.capture import backend, sidecar
from tb_privateuse1.capture.calibration import calibration as capture_calibration
from tb_privateuse1.capture.calibration.calibration import Spread
from tb_privateuse1.capture.calibration.calibration import _Try as Try
from tb_privateuse1.capture.calibration.queue_check import Verdict
from tb_privateuse1.capture.warnings import CaptureWarning, Notes


def test_calibration_never_raises() -> None:
    measured = capture_calibration.calibrate("no_such_backend")
    assert measured.launch_latency_ns is None
    assert measured.elapsed_kind is None
    assert {"events_failed", "probe_failed"} <= measured.evidence.keys()
    assert capture_calibration.calibrate("no_such_backend") is measured


@pytest.mark.parametrize(
    ("elapsed", "expected"),
    [
        (1260, ("event", "us")),
        (1, ("event", "ms")),
        (1_260_000, ("event", "ns")),
        (0, ("kernel_sum", None)),
        (-1, (None, None)),
        (40, (None, None)),
    ],
)
def test_what_a_sleep_tells_of_elapsed(elapsed: int, expected: tuple[str, str]) -> None:
    assert capture_calibration._judge(1250.0, elapsed) == expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([(None, None), ("event", "us")], ("event", "us")),
        # Both events of an idle range may be late, and then nothing is between them.
        ([("kernel_sum", None), ("event", "us")], ("event", "us")),
        ([("kernel_sum", None)] * 3, ("kernel_sum", None)),
        ([("kernel_sum", None), (None, None), ("kernel_sum", None)], (None, None)),
        ([(None, None)] * 3, (None, None)),
    ],
)
def test_a_probe_that_was_interrupted_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
    answers: list[tuple[str | None, str | None]],
    expected: tuple[str | None, str | None],
) -> None:
    left = iter(answers)
    monkeypatch.setattr(capture_calibration, "_events", lambda *_: (Spread(1, 2), Spread(3, 4)))
    monkeypatch.setattr(capture_calibration, "_probe", lambda *_: next(left))
    monkeypatch.setattr(capture_calibration, "check_queue", lambda *_: Verdict(False))
    found = capture_calibration._calibrate.__wrapped__("openreg")
    assert (found.elapsed_kind, found.elapsed_unit) == expected
    assert (found.doubt is None) == (expected[0] is not None)
    assert list(left) == []


@pytest.mark.parametrize(
    ("kind", "verdict", "expected"),
    [
        ("event", Verdict(False), ("event", None)),
        ("event", Verdict(True), ("host", None)),
        ("event", Verdict(None, "busy"), (None, "busy")),
        ("kernel_sum", Verdict(True), ("host", None)),
        ("kernel_sum", Verdict(None, "busy"), ("kernel_sum", None)),
    ],
)
def test_launches_decide_whether_there_is_a_queue(
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    verdict: Verdict,
    expected: tuple[str | None, str | None],
) -> None:
    monkeypatch.setattr(capture_calibration, "_events", lambda *_: (Spread(), Spread()))
    monkeypatch.setattr(capture_calibration, "_kind_and_unit", lambda *_: (kind, "us"))
    monkeypatch.setattr(capture_calibration, "check_queue", lambda *_: verdict)
    found = capture_calibration._calibrate.__wrapped__("openreg")
    assert (found.elapsed_kind, found.doubt) == expected


def test_the_least_launch_counts_and_its_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of nine tries on a busy host do not move it, nor one that lost its core in the call."""
    calm, late, lost = Try(6_500, 800), Try(99_000, 90_000), Try(6_510, 6_000)
    seen = iter([calm, Try(6_600, 900), lost, late, calm, late, late, Try(6_700, 800), late])
    waited = iter([Try(400_000, 500)] * 4 + [Try(8_350 + at, 500 + at) for at in range(5)])
    monkeypatch.setattr(capture_calibration, "_until_done", lambda _: next(seen))
    monkeypatch.setattr(capture_calibration, "_until_returned", lambda _: next(waited))
    latency, returned = capture_calibration._events("openreg", {})
    assert latency == Spread(6_100, 200)
    assert returned == Spread(2_000, 4)


def test_a_kind_that_is_not_known_is_a_warning() -> None:
    value, codes = build(rows_of([3, 40, 77] * 6), doubt="a busy host")
    assert codes == ["kind-doubtful"]
    assert value["elapsed_kind"] is None
    assert value["warnings"][0]["message"].endswith("a busy host")


def test_synchronize_takes_the_backends_own_where_torch_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(backend, "backend_name", lambda: "openreg")
    monkeypatch.setattr(torch, "accelerator", SimpleNamespace())
    with pytest.raises(RuntimeError, match="no synchronize"):
        backend.synchronize()
    module = SimpleNamespace(synchronize=lambda: calls.append("openreg"))
    monkeypatch.setattr(torch, "openreg", module, raising=False)
    backend.synchronize()
    assert calls == ["openreg"]


class Row:
    """A row of the profiler's results, as torch's C++ shows it."""

    last = 0
    """The id of the row whose time was read last."""

    def __init__(
        self,
        external_id: int,
        elapsed: int | Exception,
        host_us: int = 10,
        kind: str = "cpu_op",
        device: str = "CPU",
    ) -> None:
        self.external_id, self.elapsed, self.host_us = external_id, elapsed, host_us
        self.kind, self.device = kind, device

    def activity_type(self) -> str:
        return self.kind

    def device_type(self) -> SimpleNamespace:
        return SimpleNamespace(name=self.device)

    def correlation_id(self) -> int:
        return self.external_id

    def privateuse1_elapsed_us(self) -> int:
        Row.last = self.external_id
        if isinstance(self.elapsed, Exception):
            raise self.elapsed
        return self.elapsed

    def duration_ns(self) -> int:
        return self.host_us * 1000


def build(rows: list[Row], **calibration: Any) -> tuple[dict[str, Any], list[str]]:
    inner = SimpleNamespace(
        kineto_results=SimpleNamespace(events=lambda: rows), profiler_kind=backend.FALLBACK
    )
    cycle = Notes()
    own: dict[str, Any] = {"primed": [], "launches": None}
    value = sidecar.build(
        inner, "npu", capture_calibration.Calibration(**calibration), own, Notes(), cycle
    )
    return value, list(cycle.found)


def rows_of(times: list[int], host_us: int = 10) -> list[Row]:
    return [Row(i + 1, time, host_us) for i, time in enumerate(times)]


def test_the_sidecars_contract() -> None:
    value, codes = build([Row(0, 5), Row(7, 5), Row(9, -1)], launch_latency_ns=6000)
    assert codes == []
    assert value["schema"] == "tb_privateuse1.kernel_event/1"
    assert value["backend"] == "npu"
    assert value["rank"] is None
    assert value["torch_version"] == torch.__version__.partition("+")[0]
    assert value["profiler_state"] == "KINETO_PRIVATEUSE1_FALLBACK"
    assert value["elapsed_resolution_ns"] == 1000
    assert value["launch_latency_ns"] == 6000
    assert (value["external_id"], value["elapsed_us"]) == ([7, 9], [5, None])
    json.dumps(value)
    documented = (Path(capture.__file__).parents[2] / "docs" / "guide" / "capture.md").read_text()
    assert [key for key in value if f"`{key}`" not in documented] == []


def test_rows_that_are_not_operators_stay_out() -> None:
    """Their correlation numbers may be those of operators."""
    value, codes = build(
        [
            Row(7, 5),
            Row(7, -1, kind="privateuse1_runtime"),
            Row(7, -1, kind="kernel", device="NPU"),
            Row(7, -1, kind="gpu_user_annotation", device="NPU"),
            Row(8, -1, kind="cuda_runtime"),
            Row(9, -1, kind="user_annotation"),
        ]
    )
    assert codes == []
    assert (value["external_id"], value["elapsed_us"]) == ([7, 9], [5, None])


def test_no_row_hides_an_operator_of_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before torch 2.12 a row does not tell that it is a runtime call."""
    monkeypatch.delattr(Row, "activity_type")
    value, codes = build([Row(7, 5), Row(7, -1), Row(8, RuntimeError("two")), Row(8, -1)])
    assert codes == ["row-raised"]
    assert (value["external_id"], value["elapsed_us"]) == ([7, 8], [5, None])


def test_streams_where_the_backend_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {1: (0, 1, 1), 2: (0, 0, 1), 4: (1, 0, 0)}
    module = SimpleNamespace(elapsed_streams=lambda: told[Row.last])
    monkeypatch.setattr(torch, "npu", module, raising=False)
    rows = [Row(1, 4), Row(2, 5), Row(4, 6)]
    value, codes = build(rows)
    assert codes == []
    assert value["device"] == [0, 0, 1]
    assert value["stream"] == [1, None, 0]
    value, codes = build([*rows[:2], Row(3, RuntimeError("lost")), Row(5, -1), rows[2]])
    assert codes == ["row-raised"]
    assert value["device"] == [0, 0, None, None, 1]
    assert value["stream"] == [1, None, None, None, 0]


@pytest.mark.parametrize("answer", [(), "xyz", (1, 2), None])
def test_a_backend_that_tells_streams_wrongly(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(elapsed_streams=lambda: answer)
    monkeypatch.setattr(torch, "npu", module, raising=False)
    value, codes = build([Row(1, 4), Row(2, 5)])
    assert codes == ["streams-failed"]
    assert value["elapsed_us"] == [4, 5]
    assert "stream" not in value


def test_times_of_events_where_the_backend_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Together with streams, for each row right behind its elapsed time."""
    streams, times = {1: (0, 1, 1), 2: (0, 0, 0)}, {1: (-5, 4000), 2: (4100, 9000)}
    module = SimpleNamespace(
        elapsed_streams=lambda: streams[Row.last], event_times=lambda: times[Row.last]
    )
    monkeypatch.setattr(torch, "npu", module, raising=False)
    value, codes = build([Row(1, 4), Row(2, 5)])
    assert codes == []
    assert (value["first_ns"], value["second_ns"]) == ([-5, 4100], [4000, 9000])
    assert value["stream"] == [1, 0]
    value, codes = build([Row(1, 4), Row(3, RuntimeError("lost")), Row(2, 5)])
    assert codes == ["row-raised"]
    assert value["first_ns"] == [-5, None, 4100]


@pytest.mark.parametrize("answer", [(), "xyz", (1, 2, 3), None])
def test_a_backend_that_tells_times_wrongly(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it tells of streams stays."""
    module = SimpleNamespace(event_times=lambda: answer, elapsed_streams=lambda: (0, 1, 1))
    monkeypatch.setattr(torch, "npu", module, raising=False)
    value, codes = build([Row(1, 4), Row(2, 5)])
    assert codes == ["times-failed"]
    assert value["stream"] == [1, 1]
    assert "first_ns" not in value


def test_a_row_that_raises_costs_only_itself() -> None:
    value, codes = build([Row(1, 4), Row(2, RuntimeError("two devices")), Row(3, 5)])
    assert value["elapsed_us"] == [4, None, 5]
    assert codes == ["row-raised"]
    assert "1 of 3 rows" in value["warnings"][0]["message"]


@pytest.mark.parametrize(
    ("rows", "calibration", "codes", "resolution_us"),
    [
        ([], {}, ["no-rows"], 1),
        (rows_of([-1] * 5), {}, ["no-elapsed"], 1),
        (rows_of([0] * 5), {}, ["all-zero"], 1),
        (rows_of([3, 40, 77] * 6), {}, [], 1),
        (rows_of([10, 40, 70, 90, 240]), {}, ["elapsed-coarse"], 10),
        (rows_of(list(range(2, 40, 2))), {}, [], 2),
        (rows_of([10, 40, 70] * 6), {}, [], 1),
        (rows_of([1000, 2000, 5000] * 6, 3000), {}, ["elapsed-coarse"], 1000),
        (rows_of([1, 2] * 10, 10_000), {}, ["elapsed-unit"], 1),
        (rows_of([1, 2] * 10, 10_000), {"elapsed_kind": "kernel_sum"}, [], 1),
        (rows_of([400_000, 310_007] * 10, 1000), {}, ["elapsed-unit"], 1),
        (rows_of([3, 40] * 10), {"elapsed_unit": "ms"}, ["elapsed-unit"], 1),
    ],
)
def test_times_that_cannot_be_right_are_named(
    rows: list[Row], calibration: dict[str, Any], codes: list[str], resolution_us: int
) -> None:
    value, found = build(rows, **calibration)
    assert found == codes
    assert [warning["code"] for warning in value["warnings"]] == codes
    assert value["elapsed_resolution_ns"] == resolution_us * 1000


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        ("log/me.12.pt.trace.json", "log/me.12.kernel_event.json"),
        ("me.12.pt.trace.json.gz", "me.12.kernel_event.json.gz"),
        ("trace.json", "trace.kernel_event.json"),
    ],
)
def test_the_sidecars_place(trace: str, expected: str) -> None:
    assert capture.sidecar_path(trace) == Path(expected)


def test_a_note_is_shown_once_unless_renewed() -> None:
    notes = Notes()
    notes.add("code", "first")
    notes.add("code", "second")
    with pytest.warns(CaptureWarning, match="first"):
        notes.show()
    notes.show()
    notes.renew("code", "third")
    with pytest.warns(CaptureWarning, match="third"):
        notes.show()
    assert notes.as_json() == [{"code": "code", "message": "third"}]
