"""Where the time of the step goes: the same figures as the other pages, and as SQL."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tb_privateuse1.analysis.kernels.time_groups import By
from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.export import trace_tables
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.lookups.hotspots import Hotspots, hotspots
from tb_privateuse1.views.modules import modules
from tb_privateuse1.views.operators import operators
from tb_privateuse1.views.overview import overview
from tests.support.make import frame, kernel, launch, op, step, trace
from tests.support.repeats import sampled
from tests.support.shared_traces import TRACES, load, needs_traces
from tests.unit.analysis.kernels.test_time_groups import BY, MODEL
from tests.unit.analysis.simulation.test_coarse_clocks import OWN

ALL = 1_000_000

STEPS = trace(
    step(1, 0, 100), step(2, 100, 200),
    op("a", 5, 10), launch(6, 7, 1), kernel("ka", 20, 40, 1),
    op("b", 105, 120), launch(111, 112, 2), kernel("kb", 130, 180, 2),
    launch(113, 114, 3), kernel("kb", 140, 180, 3, stream=8),
    op("c", 300, 310), launch(301, 302, 4), kernel("kc", 303, 305, 4),
)  # fmt: skip


def shares(found: Hotspots) -> list[tuple[str | None, float | None]]:
    return [(row.name, row.share) for row in found.rows]


def test_shares_are_of_the_steps_time() -> None:
    found = hotspots(STEPS, window="all")
    assert shares(found) == [("b", 0.45), ("a", 0.1), ("c", 0.0)]
    assert found.window_ns == 200_000
    assert [row.total_ns for row in found.rows] == [90_000, 20_000, 2_000]
    assert (found.total_ns, found.step_ns) == (112_000, 110_000)


def test_of_a_selected_step() -> None:
    assert shares(hotspots(STEPS, step=2)) == [("b", 0.9)]
    assert shares(hotspots(STEPS, step=2, by="kernel")) == [("kb", 0.9)]
    with pytest.raises(TraceError, match="no step 7"):
        hotspots(STEPS, step=7)


def test_the_rest_is_one_sum() -> None:
    found = hotspots(STEPS, window="all", limit=1)
    assert found.total_rows == 3
    assert found.others is not None
    assert (found.others.rows, found.others.events) == (2, 2)
    assert (found.others.total_ns, found.others.step_ns) == (22_000, 20_000)
    assert found.others.share == 0.1
    assert hotspots(STEPS, limit=0).rows == ()
    with pytest.raises(TraceError):
        hotspots(STEPS, limit=-1)


def test_without_device_times_it_is_the_hosts() -> None:
    found = hotspots(trace(step(1, 0, 100), op("a", 10, 40), op("b", 20, 30)))
    assert found.measure == "host"
    assert shares(found) == [("a", 0.2), ("b", 0.1)]


def test_an_inferred_time_has_a_bound() -> None:
    found = hotspots(trace(step(1, 0, 100), op("aten::mm", 10, 20, id=1), elapsed={1: 30}))
    assert found.rows[0].bound_ns != 0


def test_a_kernel_has_the_operator_and_the_function_of_most_of_its_time() -> None:
    """One long call from another line is not where the time goes."""
    events = [step(1, 0, 1000), frame("train.py(3): main", 1, 999)]
    usual, odd = ("model.py(7): forward", "aten::mm", 60), ("debug.py(9): dump", "aten::dot", 90)
    for i, (line, operator, length) in enumerate([usual] * 4 + [odd]):
        at = 10 + 100 * i
        events += [
            frame(line, at, at + 20), op(operator, at + 1, at + 19),
            launch(at + 2, at + 4, i), kernel("gemm", at + 5, at + 5 + length, i),
        ]  # fmt: skip
    made = trace(*events)
    (row,) = hotspots(made, by="kernel").rows
    assert (row.operator, row.function) == ("aten::mm", "forward (model.py:7)")
    assert row.function_share == pytest.approx(240 / 330)
    assert row.share == pytest.approx(0.33)
    first, second = hotspots(made).rows
    assert (first.operator, first.function, first.function_share) == (
        None,
        "forward (model.py:7)",
        1,
    )
    assert second.function == "dump (debug.py:9)"
    assert {row.function for row in hotspots(made, by="function").rows} == {None}


def test_without_functions_there_is_none() -> None:
    assert [row.function for row in hotspots(STEPS).rows] == [None] * 2
    assert [row.operator for row in hotspots(STEPS, by="kernel").rows] == ["b", "a"]


def test_a_recording_without_steps_has_its_judged_part() -> None:
    """The device works off what was launched earlier: that is no part of this work's time."""
    made = trace(
        op("a", 500, 520), launch(505, 507, 1), kernel("ka", 510, 530, 1),
        op("b", 600, 700), launch(605, 607, 2), kernel("kb", 610, 700, 2),
    )  # fmt: skip
    found = hotspots(made)
    assert found.window_ns == intervals.length(judged_part(made).window)
    assert [row.step_ns for row in found.rows] == [90_000, 20_000]


def test_of_nothing() -> None:
    found = hotspots(Trace())
    assert (found.rows, found.groups, found.others) == ((), ("operator",), None)


def check(made: Trace) -> None:
    """Every group has the sums of its own page, over all steps and in the first."""
    numbers = [made.text(name).rpartition("#")[2] for name in made.steps.name.tolist()]
    for number in (None, *[int(n) for n in numbers if n.isdecimal()][:1]):
        tables = {by: hotspots(made, by=by, step=number, limit=ALL) for by in BY}
        check_operators(made, tables["operator"], number)
        if len(made.kernels):
            check_kernels(made, tables["kernel"], number)
            check_modules(made, tables["module"], tables["annotation"], number)
        for found in tables.values():
            assert sum(row.total_ns for row in found.rows) == found.total_ns
            if number is not None:
                assert [r.step_ns for r in found.rows] == [r.total_ns for r in found.rows]
            page = overview(made, step=number)
            assert page.verdict is None or page.verdict.judged_ns == found.window_ns
            assert page.account is None or page.account.window_ns == found.window_ns


def check_operators(made: Trace, found: Hotspots, step: int | None) -> None:
    of_page: Counter[tuple[str | None, str | None]] = Counter()
    page = operators(made, step=step, limit=ALL)
    for one in page.rows:
        device = len(made.kernels) > 0
        of_page[one.name, one.launcher] += one.device_self_ns or 0 if device else one.host_self_ns
    mine = Counter({(row.name, row.launcher): row.total_ns for row in found.rows})
    assert +mine == +of_page


def check_kernels(made: Trace, found: Hotspots, step: int | None) -> None:
    rows = kernels(made, group="name", step=step, limit=ALL).rows
    of_page = Counter({(row.full_name, row.kind): row.total_ns for row in rows})
    mine = Counter({(row.full_name or row.name, row.kind): row.total_ns for row in found.rows})
    assert +mine == +of_page


def check_modules(made: Trace, found: Hotspots, notes: Hotspots, step: int | None) -> None:
    of_page: Counter[str | None] = Counter()
    for one in operators(made, group="module", step=step, limit=ALL).rows:
        of_page[one.module] += one.device_self_ns or 0
    assert +Counter({row.name: row.total_ns for row in found.rows}) == +of_page
    outside = modules(made, source="annotations", step=step).outside_device_ns
    assert sum(row.total_ns for row in notes.rows if row.name is None) == outside


def check_columns(made: Trace) -> None:
    """As ``select sum(duration_ns) from kernels group by name`` over exported columns."""
    strings = trace_tables.string_table(made)
    columns = trace_tables.whole_table(made, "kernels", strings).to_pydict()
    if not columns["row"]:
        return
    found = hotspots(made, by="kernel", window="all", limit=ALL)
    whole: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    for name, ns, number in zip(
        *(columns[key] for key in ("name", "duration_ns", "step")), strict=True
    ):
        whole[name] += ns
        inside[name] += ns if number is not None else 0
    mine: Counter[str] = Counter()
    for row in found.rows:
        mine[row.full_name or row.name or ""] += row.total_ns
        assert row.share == pytest.approx(row.step_ns / found.window_ns)
    assert mine == whole
    assert sum(row.step_ns for row in found.rows) == sum(inside.values())


@pytest.mark.long
@pytest.mark.parametrize("path", OWN, ids=lambda path: path.parent.name)
def test_they_are_the_figures_of_the_pages(path: Path) -> None:
    made = load(path)
    check(made)
    check_columns(made)


@pytest.mark.parametrize("made", [MODEL, STEPS], ids=["model", "steps"])
def test_of_small_programs(made: Trace) -> None:
    check(made)
    check_columns(made)


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES), ids=lambda p: f"{p.parent.name}-{p.name[:12]}")
def test_of_real_recordings(path: Path) -> None:
    made = load(path)
    check(made)
    check_columns(made)


@pytest.mark.parametrize("by", BY)
def test_every_activity_counts_once(by: By) -> None:
    found = hotspots(MODEL, by=by)
    assert sum(row.events for row in found.rows) == len(MODEL.kernels)
    assert found.total_ns == int(np.sum(MODEL.kernels.end_ns - MODEL.kernels.start_ns))
