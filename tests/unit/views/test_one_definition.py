"""A figure that several pages show is the same on each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from msgspec import Struct

from tb_privateuse1.analysis.account.classes import IDLE
from tb_privateuse1.analysis.idle import device_bound, launch_times
from tb_privateuse1.analysis.recording import durations
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.timeline import level_of_detail
from tb_privateuse1.export.work_columns import kernel_columns
from tb_privateuse1.trace import intervals, uncertainty
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.advice import advice
from tb_privateuse1.views.diff import diff
from tb_privateuse1.views.distributed import distributed
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.lookups.area import area
from tb_privateuse1.views.operators import OperatorRow, operators
from tb_privateuse1.views.overview import overview
from tb_privateuse1.views.whatif import whatif
from tests.support.invariants import QUICK_OPTIONS
from tests.support.make import Event, kernel, op, trace
from tests.support.repeats import sampled
from tests.support.results import result
from tests.support.shared_traces import TRACES, load, needs_traces
from tests.unit.analysis.simulation.test_coarse_clocks import OWN
from tests.unit.views.test_empty_times import tiny

OF_ALL = ("timeline", "memory", "counters", "serving", "compilation")
"""Views whose window is always all of the recording, which they say."""
EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "runs").glob("*/*.pt.trace.json.gz"))


def check(made: Trace) -> None:
    """The overview's operators and kernels are rows of their pages."""
    answer = overview(made)
    rows = {row.name: row for row in operators(made).rows}
    for one in answer.top_operators:
        row = rows[one.name]
        device = row.device_self_ns is not None
        assert one.calls == row.calls
        assert one.total_ns == (row.device_self_ns if device else row.host_self_ns)
        assert one.bound_ns == (row.device_bound_ns if device else 0)
        assert one.bounded_share == row.bounded_share
    of_page = kernels(made, group="name").rows
    for name in {one.name for one in answer.top_kernels} if len(of_page) < 10 else ():
        total = sum(one.total_ns for one in answer.top_kernels if one.name == name)
        assert total == sum(row.total_ns for row in of_page if row.name == name)


def check_busy(made: Trace) -> None:
    """What advice takes for surely busy is the overview's busy time, less what its bounds allow."""
    totals = overview(made, window="all").totals
    if totals.busy_ns is None or not len(made.kernels):
        return
    low, high = int(made.kernels.start_ns.min()), int(made.kernels.end_ns.max())
    span = np.array([low]), np.array([high])
    limits = device_bound.find_limits(made, span)
    busy, idle = intervals.length(limits.busy), intervals.length(limits.all_idle)
    if not totals.busy_ns:
        assert busy == 0
    elif uncertainty.all_measured(made.kernels):
        unseen = intervals.length(intervals.intersect(launch_times.unrecorded_start(made), span))
        assert busy == totals.busy_ns
        assert totals.span_ns is not None
        assert idle <= totals.span_ns - busy <= idle + unseen
    else:
        assert busy <= totals.busy_ns


def check_step_times(made: Trace) -> None:
    """The steady step is the same on all pages, and so is the average step of complete steps."""
    recording, saved, asked = (
        overview(made).recording,
        advice(made),
        result(whatif, made, **QUICK_OPTIONS["whatif"]),
    )
    assert recording is not None
    steady = recording.steady_step_ns
    if asked.is_steady:
        assert asked.measured_ns == steady
    else:
        assert steady is None
        assert "not_steady" in {note.code for note in asked.notes}
    assert recording.judged_ns == saved.judged_ns
    if steady is not None:
        assert steady == round(saved.judged_ns / saved.steps)
        assert f"of {durations.write_duration(steady)} analyzed" in recording.sentence or not (
            recording.judged_steps
        )
    if len(asked.steps) and len(made.kernels):
        total = sum(one.measured_ns for one in asked.steps)
        assert round(total / len(asked.steps)) == asked.measured_ns
        path = sum(one.path_ns for one in asked.classes)
        assert path == pytest.approx(asked.measured_ns, abs=len(asked.classes))
    check_average_step(made)


def check_average_step(made: Trace) -> None:
    """The average step is that of the overview, a comparison and the ranks."""
    average = overview(made).average_step_ns
    if average is None:
        return
    step = next(one for one in diff(made, made).figures if one.name == "step")
    assert step.now_ns == average
    check_rank(made)


def check_rank(made: Trace) -> None:
    """The ranks' page has the overview's step, and its account of idle time, in each window."""
    for window in ("steady", "all"):
        answer = overview(made, window=window)
        (rank,) = result(distributed, made, window=window).rows
        assert rank.step_ns == answer.average_step_ns
        on_host = (made.collectives.kernel < 0).any()  # which the rank does not count as idle
        if rank.on_host or on_host or rank.steps != len(Window(made, window).steps):
            continue
        if answer.account is None:
            assert rank.idle_classes == ()
            continue
        idle = {c.name: c.ns / rank.steps for c in answer.account.classes if c.name in IDLE}
        found = {c.name: c.ns for c in rank.idle_classes}
        assert found == pytest.approx({name: ns for name, ns in idle.items() if ns >= 1}, abs=1)


LOCAL = {"start_ns", "end_ns", "total_rows", "calls", "events", "total_ns", "ranges", "names",
         "bound_ns", "median_ns"}  # fmt: skip
"""Names of columns and of extents, which each table has for itself."""


def figures(answer: Any, where: str) -> Iterator[tuple[str, str, float]]:
    """Yield name, place and value of the figures of an answer that are not in a row of a table."""
    for name in answer.__struct_fields__:
        value = getattr(answer, name)
        if isinstance(value, Struct):
            yield from figures(value, f"{where}.{name}")
        elif isinstance(value, int | float) and name not in LOCAL:
            yield name, f"{where}.{name}", value


def check_names(made: Trace) -> None:
    """All answers have the same value for the same name."""
    values: dict[str, dict[float, str]] = {}
    for name in VIEWS.keys() - {"method", "quality"}:  # of the recording, not of its window
        options = QUICK_OPTIONS.get(name, {})
        for figure, where, value in figures(result(VIEWS[name], made, **options), name):
            if name in OF_ALL and where.startswith(f"{name}.provenance.window."):
                continue
            values.setdefault(figure, {})[value] = where
    assert {name: found for name, found in values.items() if len(found) > 1} == {}


def check_account(made: Trace) -> None:
    """The account is the same on the overview, of a selection, and in a comparison."""
    account = overview(made, window="all").account
    if account is None or not len(made.steps):
        return
    steps, pyramid = made.steps, level_of_detail.build_pyramid(made)
    total: Counter[str] = Counter()
    for start, end in zip(steps.start_ns.tolist(), steps.end_ns.tolist(), strict=True):
        if end > start:
            part = area(made, pyramid, start_ns=start, stop_ns=end, account=True).account
            assert part is not None
            total.update({c.name: c.ns for c in part.classes})
    assert total == {c.name: c.ns for c in account.classes}
    complete = ~steps.incomplete & ~steps.primed
    if complete.all() and Window(made, "steady").steps.size == len(made.steps):
        compared = {one.name: one.now_ns for one in diff(made, made).account}
        assert compared == {c.name: round(c.ns / len(steps)) for c in account.classes}


def check_work(made: Trace) -> None:
    """Work of all activities is the same by kernel, operator and in SQL; a row has one of each."""
    by_kernel = kernels(made, group="operator", limit=100_000, window="all").rows
    by_operator = operators(made, limit=100_000, window="all").rows
    columns = kernel_columns(made)
    known = {name: column[column != MISSING] for name, column in columns.items()}
    for figure, column in (("flops", "flops"), ("bytes", "bytes_moved")):
        whole = sum(getattr(row, figure) or 0 for row in by_kernel)
        assert whole == int(known[column].sum()), figure
        assert sum(getattr(row, figure) or 0 for row in by_operator) == whole, figure
    time = int((made.kernels.end_ns - made.kernels.start_ns)[columns["attainable_ns"] >= 0].sum())
    above = sum(row.above_roof_ns or 0 for row in by_kernel)
    assert above == time - int(known["attainable_ns"].sum())
    check_steps(made)
    check_compared_work(made, operators(made, limit=100_000).rows)


def check_steps(made: Trace) -> None:
    """A selected step has the use of the table of steps."""
    shares = overview(made).use.step_shares
    names = [one.step.rpartition("#")[2] for one in shares]
    if len(set(names)) == len(names):
        for one, name in zip(shares, names, strict=True):
            if name.isdecimal():
                of_step = overview(made, step=int(name)).use
                assert (of_step.mfu, of_step.hfu) == (one.mfu, one.hfu)


def check_compared_work(made: Trace, rows: tuple[OperatorRow, ...]) -> None:
    """A comparison has the rates of the operators' page, if it is over the same steps."""
    steps = made.steps
    if not len(steps) or (steps.incomplete | steps.primed).any() or (made.kernels.step < 0).any():
        return
    by_name = {row.name: row for row in rows if row.launcher is None}
    count = Window(made, "steady").steps.size
    for one in diff(made, made).rows:
        if (row := by_name.get(one.name)) is not None:
            assert one.now_flops == (None if row.flops is None else round(row.flops / count))
            for figure in ("tflop_per_s", "gb_per_s", "roof_share"):
                values = {getattr(one, f"{side}_{figure}") for side in ("base", "now")}
                assert values == {getattr(row, figure)}, (one.name, figure)


def check_compared_rows(made: Trace) -> None:
    """A comparison has the operators and kernels of their pages, per step."""
    window = Window(made, "steady")
    if len(window.complete_steps) != len(window.steps) or (made.kernels.step < 0).any():
        return
    steps, answer = len(window.steps), diff(made, made)
    if answer.time == "device":
        total_ns = kernels(made).total_ns
        assert total_ns is not None
        assert answer.now_total_ns == round(total_ns / steps)
    calls = {row.name: row.calls for row in operators(made, limit=100_000).rows if not row.launcher}
    for one in answer.rows:
        assert one.now_calls == pytest.approx(calls.get(one.name, 0) / steps), one.name


@pytest.mark.long
@pytest.mark.parametrize("path", OWN + EXAMPLES, ids=lambda path: path.parent.name)
def test_no_page_has_another_figure_for_the_same_name(path: Path) -> None:
    made = load(path)
    check_names(made)
    check_account(made)
    check_step_times(made)
    check_compared_rows(made)
    check_work(made)


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES), ids=lambda p: f"{p.parent.name}-{p.name[:12]}")
def test_no_page_has_another_figure_of_a_real_recording(path: Path) -> None:
    made = load(path)
    check_names(made)
    check_account(made)
    check_step_times(made)
    check_compared_rows(made)
    check_work(made)


@pytest.mark.parametrize("path", OWN + EXAMPLES, ids=lambda path: path.parent.name)
def test_of_recordings(path: Path) -> None:
    made = load(path)
    check(made)
    check_busy(made)


@pytest.mark.long
@given(tiny())
def test_of_a_few_events(events: list[Event]) -> None:
    made = trace(*events)
    check(made)
    check_busy(made)


@pytest.mark.parametrize("device", [(), (kernel("gemm", 4, 9, 1),)])
def test_an_operator_alone_inside_its_own_name(device: tuple[Event, ...]) -> None:
    """The two are one call, as for torch: the inner one's time is not lost."""
    made = trace(op("aten::mm", 0, 30, id=1), op("aten::mm", 10, 30, id=2), *device)
    check(made)
    if not device:
        assert [(one.calls, one.total_ns) for one in overview(made).top_operators] == [(1, 30_000)]
