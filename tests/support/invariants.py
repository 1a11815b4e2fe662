"""What must hold of every trace, sound or not: views and lookups answer, and sums close."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.analysis.account.classes import IDLE
from tb_privateuse1.analysis.account.table import has_account
from tb_privateuse1.analysis.comparison.items_per_step import By
from tb_privateuse1.analysis.simulation import excerpt
from tb_privateuse1.trace import device_times
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.advice import advice
from tb_privateuse1.views.diff import diff
from tb_privateuse1.views.distributed import distributed
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.flame import flame
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.lookups import LOOKUPS
from tb_privateuse1.views.lookups.event_items import TABLES
from tb_privateuse1.views.memory import memory
from tb_privateuse1.views.modules import modules
from tb_privateuse1.views.operators import operators
from tb_privateuse1.views.overview import Overview, overview
from tb_privateuse1.views.quality import quality
from tests.support import valid_trace
from tests.support.results import ranks, result

QUICK_OPTIONS: dict[str, dict[str, Any]] = {"whatif": {"limit": 3}}
"""Each row of the ranking takes several replays."""


def check(trace: Trace) -> None:
    """Raises AssertionError, or whatever a view or a lookup raises."""
    answers(trace)
    of_time(trace)
    of_trees(trace)
    of_memory(trace)
    of_findings(trace)
    of_ranks(trace)
    of_differences(trace)


def answers(trace: Trace) -> None:
    """The trace and what is derived from it are valid; views, rules and lookups answer."""
    valid_trace.check(trace)
    with valid_trace.checked_tables(trace):
        for name, view in VIEWS.items():
            assert encode(result(view, trace, **QUICK_OPTIONS.get(name, {})))
    of_lookups(trace)
    of_advice(trace)
    of_excerpt(trace)


def of_excerpt(trace: Trace) -> None:
    """An excerpt of half the trace is valid as well."""
    size = len(trace.ops) + len(trace.launches) + len(trace.kernels)
    part = excerpt.cut_excerpt(trace, np.arange(len(trace.steps)), size // 2)
    if part is not None:
        valid_trace.check(part.trace)


def of_lookups(trace: Trace) -> None:
    """Each lookup answers: of the middle row of each table that it can be asked about."""
    counts = {table: len(getattr(trace, table)) for table in TABLES}
    rows = {table: count // 2 for table, count in counts.items() if count}
    of_rows = [{"table": table, "index": row} for table, row in rows.items()]
    operators = np.flatnonzero(trace.ops.kind == OPERATOR)[:1].tolist()
    asked: dict[str, list[dict[str, Any]]] = {
        "links": of_rows,
        "namesakes": of_rows,
        "work": of_rows,
        "operator_calls": [{"index": row} for row in operators],
        "kernel_instances": [{"index": rows["kernels"]}] if "kernels" in rows else [],
        "kernel_source": [{"index": rows["kernels"]}] if "kernels" in rows else [],
    }
    for name, lookup in LOOKUPS.items():
        for options in asked.get(name, [{}]):
            assert encode(result(lookup, trace, **options))


def of_advice(trace: Trace) -> None:
    """No rule fails, and no instant is saved twice."""
    told = advice(trace)
    assert "failed" not in {one.answer for one in told.asked}
    assert 0 <= told.saving_ns <= told.judged_ns
    assert all(row.saving_ns is None or row.saving_ns >= 0 for row in told.rows)
    assert sum(cause.saving_ns or 0 for cause in told.causes) == told.saving_ns


def of_account(result: Overview) -> None:
    """All time of the windows is in one class, and the same on all of the page."""
    account = result.account
    assert account is not None
    assert sum(c.ns for c in account.classes) == account.window_ns
    assert all(sum(part.ns for part in c.parts) <= c.ns for c in account.classes)
    assert all(sum(one.duration_ns for one in c.largest) <= c.ns for c in account.classes)
    idle = sum(c.ns for c in account.classes if c.group != "device")
    assert idle == account.idle_ns
    if result.utilization is not None:
        assert account.window_ns - idle == round(result.utilization * account.window_ns)
    for own, s in zip(result.account_steps, result.steps, strict=True):
        times = {c.name: c.ns for c in own.classes}
        assert sum(times.values()) == s.duration_ns
        assert sum(times.get(name, 0) for name in IDLE) == own.idle_ns
        assert times.get("kernel", 0) == (s.kernel_ns or 0)
        assert times.get("exposed_copy", 0) == (s.memcpy_ns or 0)
        assert times.get("exposed_fill", 0) == (s.memset_ns or 0)
        assert times.get("unknown", 0) == (s.unknown_ns or 0)


def of_time(trace: Trace) -> None:
    """Steps, the device's totals, operators and kernels."""
    result = overview(trace)
    for s in result.steps:
        parts = (s.kernel_ns, s.memcpy_ns, s.memset_ns, s.communication_ns, s.unknown_ns,
                 s.runtime_ns, s.dataloader_ns, s.cpu_ns, s.other_ns)  # fmt: skip
        known = [part for part in parts if part is not None]
        assert min(known) >= 0
        assert sum(known) == s.duration_ns
    totals, links = overview(trace, window="all").totals, quality(trace)
    if totals.span_ns is None:
        assert links.linked is None
        return
    if trace.meta.lost_launches:  # their kinds of work are not known
        return
    assert totals.busy_ns is not None
    assert 0 <= totals.busy_ns <= totals.span_ns
    if has_account(trace):
        of_account(result)
    else:  # of joined processes
        assert result.account is None
    own, rows = operators(trace, window="all"), kernels(trace, window="all")
    assert own.device_self_ns is not None
    if own.unlinked_device_ns is None:  # work that nobody launched is a lower limit
        assert trace.meta.unseen_work
    else:
        assert own.device_self_ns + own.unlinked_device_ns == rows.total_ns
    assert sum(r.total_ns for r in rows.rows) == rows.total_ns
    assert (links.linked, links.device_ns) == (totals.linked, rows.total_ns)
    assert links.unlinked_device_ns == own.unlinked_device_ns


def of_trees(trace: Trace) -> None:
    """Modules and the flame graph, with what is in no row."""
    tree, graph = modules(trace), flame(trace)
    if tree.device_ns is not None:
        assert tree.outside_device_ns is not None
        outermost = [r for r in tree.rows if r.parent is None]
        inside = sum((r.device_total_ns or 0) + (r.backward_device_ns or 0) for r in outermost)
        assert inside + tree.outside_device_ns == tree.device_ns == graph.total_ns
    host, turned = flame(trace, by="host"), flame(trace, direction="bottom_up")
    rest = flame(trace, by="host", ignore_libraries=True)
    assert (turned.total_ns, rest.total_ns) == (graph.total_ns, host.total_ns)
    for one in (graph, host, turned, rest):
        assert min((r.self_ns for r in one.rows), default=0) >= 0
        whole = sum(r.self_ns + r.merged_ns for r in one.rows) + one.merged_ns
        known = device_times.known_sum(trace, whole) if one.by == "device" else whole
        assert one.total_ns == known


def of_memory(trace: Trace) -> None:
    """Allocations, and what was alive at the peak."""
    use = memory(trace)
    if use.window is None:
        return
    assert sum(o.self_allocated_bytes for o in use.operators) == use.window.allocated_bytes
    assert sum(r.bytes for r in use.alive) == (use.window.peak_bytes if use.alive else 0)
    if use.allocations == len(use.rows):
        made = [r.bytes for r in use.rows if r.allocated_ns is not None]
        assert sum(made) == use.window.allocated_bytes


def of_findings(trace: Trace) -> None:
    """Each names rows that are there, and no more than its count."""
    for finding in trace.meta.findings:
        assert finding.count is None or finding.count >= len(finding.examples)
        for example in finding.examples:
            assert 0 <= example.row < len(getattr(trace, example.table))
            assert len(example.name) <= 200


def of_ranks(trace: Trace) -> None:
    """Each step of a rank, and its collectives by the matches with a rank like it."""
    (one,) = ranks(trace)
    whole = distributed((one, replace(one, rank=one.rank + 1)))
    for s in whole.steps:
        parts = (s.computation_ns, s.exposed_ns, s.copy_ns, s.idle_ns)
        known = [part for part in parts if part is not None]
        assert sum(known) == s.duration_ns or s.idle_ns is None
        assert min(known, default=0) >= 0
        beside_copies = (s.communication_ns or 0) - (s.exposed_ns or 0) - (s.overlap_ns or 0)
        assert 0 <= beside_copies <= (s.copy_ns or 0)
    assert sum(c.calls for c in whole.collectives) == 2 * len(trace.collectives)


def of_differences(trace: Trace) -> None:
    """A trace does not differ from itself, and its rows sum to all device time."""
    names: tuple[By, ...] = ("operators", "kernels", "modules", "annotations")
    for by in names:
        one = diff(trace, trace, by=by)
        # Of what lacks activities, nothing says whether it is the same.
        doubt = {"unknown"} if trace.meta.lost_launches or trace.meta.unseen_work else set()
        assert {r.verdict for r in one.rows} <= {"same"} | doubt
        assert {f.verdict for f in one.figures} <= {"same", "unknown"}
        outermost = [r.now_ns for r in one.rows if r.parent is None]
        # Means are doubles: of decades, which no run takes, they keep 2^-52 each.
        whole = one.now_total_ns or 0
        rounding = len(outermost) * (1 + abs(whole) * 2**-52)
        assert abs(sum(ns or 0 for ns in outermost) - whole) <= rounding
