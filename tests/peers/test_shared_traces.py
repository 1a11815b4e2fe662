"""Real traces, against figures that were computed independently in exact integer ns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.distributed import distributed
from tb_privateuse1.views.memory import memory
from tb_privateuse1.views.overview import overview
from tests.support import invariants
from tests.support.results import ranks
from tests.support.shared_traces import FOLDER, MORE, TRACES, load

EXPECTED: list[dict[str, Any]] = (
    json.loads((FOLDER / "expected.json").read_text()) if FOLDER.exists() else []
)
for _one in EXPECTED:
    if "b200_eager" in _one["file"]:  # torch's all-reduce in symmetric memory is no NCCL kernel
        _one["whole_trace_us"] |= {"compute_union": 8652.137, "comm_union": 2141.501}
        _one["counts"] |= {"compute_kernels": 694, "comm_kernels": 74}

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the shared traces are not here")


TOTALS = [expected for expected in EXPECTED if expected["whole_trace_us"] is not None]
"""The others are vendors' own files: see tests/unit/inference/test_device_processes.py."""


def known(trace: Trace, exact: dict[str, int]) -> dict[str, int | None]:
    """Return the figures that a recording can know: where launches are lost, no 0 is sure."""
    lost = trace.meta.lost_launches
    return {name: ns or (None if lost else 0) for name, ns in exact.items()}


@pytest.mark.parametrize("expected", TOTALS, ids=lambda e: e["file"].split("/")[1])
def test_totals_are_exact(expected: dict[str, Any]) -> None:
    totals = overview(load(FOLDER / expected["file"]), window="all").totals
    us = {
        "span_ns": "total",
        "busy_ns": "busy",
        "compute_ns": "compute_union",
        "communication_ns": "comm_union",
        "memcpy_ns": "memcpy_union",
        "overlap_ns": "comm_compute_overlap",
    }
    whole, counts = expected["whole_trace_us"], expected["counts"]
    exact = {k: round(whole[v] * 1000) for k, v in us.items()}
    assert {k: getattr(totals, k) for k in us} == known(load(FOLDER / expected["file"]), exact)
    assert totals.span_ns is not None
    assert totals.busy_ns is not None
    assert totals.span_ns - totals.busy_ns == round(whole["idle"] * 1000)
    assert totals.kernels == counts["compute_kernels"]
    if load(FOLDER / expected["file"]).meta.lost_launches:
        return
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


def whole(trace: Trace) -> Trace:
    """The same without its steps: one that reaches over all."""
    end_ns = np.array([max(trace.end_ns, int(trace.kernels.end_ns.max(initial=0)))])
    start_ns = np.minimum(trace.kernels.start_ns.min(initial=0), 0)[None]
    steps = replace(
        trace.steps,
        name=trace.steps.name[:1],
        host_start_ns=start_ns,
        host_end_ns=end_ns,
        start_ns=start_ns,
        end_ns=end_ns,
        incomplete=np.zeros(1, np.bool_),
        primed=np.zeros(1, np.bool_),
        partial=np.zeros(1, np.bool_),
    )
    kernels = replace(trace.kernels, step=np.zeros(len(trace.kernels), np.int32))
    ops = replace(trace.ops, step=np.zeros(len(trace.ops), np.int32))
    return replace(trace, steps=steps, kernels=kernels, ops=ops)


@pytest.mark.parametrize(
    "expected",
    [e for e in EXPECTED if e["whole_trace_us"] is not None],
    ids=lambda e: e["file"].split("/")[1],
)
def test_communication_of_a_rank_is_exact(expected: dict[str, Any]) -> None:
    trace = whole(load(FOLDER / expected["file"]))
    (row,) = distributed(ranks(trace), window="all").rows
    # The oracle knows device activities only; ranges of libraries on the host count here too.
    on_host_ns = int(breakdown.communication_on_host(trace).sum())
    row = replace(row, communication_ns=(row.communication_ns or 0) - on_host_ns)
    us = {
        "computation_ns": "compute_union",
        "communication_ns": "comm_union",
        "overlap_ns": "comm_compute_overlap",
    }
    told = expected["whole_trace_us"]
    exact = {k: round(told[v] * 1000) for k, v in us.items()}
    expect = known(trace, exact)
    if trace.meta.lost_launches:
        expect["communication_ns"] = expect["communication_ns"] or 0
    assert {k: getattr(row, k) for k in us} == expect
    assert (row.step_ns or 0) - (row.idle_ns or 0) - on_host_ns == round(told["busy"] * 1000)


def test_two_ranks_on_one_clock() -> None:
    """Sampled traces, which lack calls: of the ten that are the same by their number four are.

    By hand: two all-reduces and two all-gathers end within 0.4 ms on both ranks, after durations
    of 5 to 60 ms; the others 60 to 250 ms apart.
    """
    files = sorted((FOLDER / "cuda" / "two_ranks_of_128").glob("*.json.gz"))
    result = distributed(ranks(*map(load, files)))
    assert [(r.rank, r.steps) for r in result.rows] == [(0, 2), (1, 2)]
    assert result.world_size == 128
    assert {n.code: n.count for n in result.notes} == {"ranks_missing": 126, "collectives_apart": 6}
    assert sum(c.calls for c in result.collectives) == 20
    assert sum(c.matched for c in result.collectives) == 8
    assert {c.kind for c in result.collectives if c.matched} == {"all_reduce", "all_gather"}
    one, other = result.rows
    assert one.clock_offset_ns == 0
    assert other.clock_offset_ns is not None
    assert abs(other.clock_offset_ns) < 200_000
    assert one.clock_residual_ns == other.clock_residual_ns
    assert 0 < (one.clock_residual_ns or 0) < 200_000
    assert result.culprits == ()
    for s in result.steps:
        parts = (s.computation_ns, s.exposed_ns, s.copy_ns, s.idle_ns)
        assert sum(part or 0 for part in parts) == s.duration_ns
        assert s.transferring_ns is not None
        assert s.synchronizing_ns is not None
        assert s.transferring_ns + s.synchronizing_ns >= (s.communication_ns or 0)  # lanes overlap


@pytest.mark.parametrize("path", TRACES, ids=lambda p: p.parent.name)
def test_every_view_answers_and_every_sum_closes(path: Path) -> None:
    trace = load(path)
    invariants.check(trace)
    if overview(trace).provenance.timeline == "none":
        assert trace.meta.findings, "a trace without device times says why"


@pytest.mark.parametrize("path", MORE, ids=lambda p: "/".join(p.parts[-3:-1]))
def test_views_rules_and_lookups_answer(path: Path) -> None:
    invariants.answers(load(path))
