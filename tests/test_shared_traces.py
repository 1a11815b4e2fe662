"""Real traces, against figures that were computed independently in exact integer ns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import infer
from tb_privateuse1.read import chrome, kernel_events
from tb_privateuse1.trace import Trace
from tb_privateuse1.views.memory import memory
from tb_privateuse1.views.overview import overview
from tests import sums

FOLDER = Path(__file__).parents[2] / "shared" / "traces"
EXPECTED: list[dict[str, Any]] = (
    json.loads((FOLDER / "expected.json").read_text()) if FOLDER.exists() else []
)
TRACES = sorted(FOLDER.glob("*/*/*.pt.trace.json*"))

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the shared traces are not here")


def load(path: Path) -> Trace:
    beside = Path(str(path).replace(".pt.trace.", ".kernel_event."))
    sidecar = kernel_events.read(str(beside)) if beside.exists() else None
    return infer.build(chrome.read(str(path)), sidecar, worker=path.name, files=(path.name,))


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda e: e["file"].split("/")[1])
def test_totals_are_exact(expected: dict[str, Any]) -> None:
    totals = overview(load(FOLDER / expected["file"])).totals
    if expected["whole_trace_us"] is None:
        assert totals.busy_ns is None
        return
    us = {
        "span_ns": "total",
        "busy_ns": "busy",
        "idle_ns": "idle",
        "compute_ns": "compute_union",
        "communication_ns": "comm_union",
        "memcpy_ns": "memcpy_union",
        "overlap_ns": "comm_compute_overlap",
    }
    whole, counts = expected["whole_trace_us"], expected["counts"]
    assert {k: getattr(totals, k) for k in us} == {k: round(whole[v] * 1000) for k, v in us.items()}
    assert totals.kernels == counts["compute_kernels"]
    assert totals.communication_kernels == counts["comm_kernels"]
    assert (totals.memcpys, totals.memsets) == (counts["memcpy"], counts["memset"])
    assert (totals.linked, totals.unlinked) == (expected["linked"], expected["unlinked"])


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda e: e["file"].split("/")[1])
def test_steps_are_those_of_the_host_once(expected: dict[str, Any]) -> None:
    names = [s.name for s in overview(load(FOLDER / expected["file"])).steps]
    assert sorted(names) == sorted(expected["steps"]) or (
        not expected["steps"] and names == ["whole trace"]
    )


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda e: e["file"].split("/")[1])
def test_memory_is_exact(expected: dict[str, Any]) -> None:
    result = memory(load(FOLDER / expected["file"]))
    figures = {
        d.device: {
            "events": d.events,
            "alloc_bytes": d.allocated_bytes,
            "free_bytes": d.freed_bytes,
            "peak_total_allocated": d.peak_bytes,
        }
        for d in result.devices
    }
    assert figures == (expected["memory"] or {})
    assert result.devices or result.notes, "a trace without memory events says why"


@pytest.mark.parametrize("path", TRACES, ids=lambda p: p.parent.name)
def test_every_view_answers_and_every_sum_closes(path: Path) -> None:
    trace = load(path)
    sums.check(trace)
    if overview(trace).provenance.timeline == "none":
        assert trace.meta.findings, "a trace without device times says why"
