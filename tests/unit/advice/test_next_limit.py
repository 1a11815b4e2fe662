"""The class of time that limits the steps once a finding is fixed."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.engine import AdviceRow, advise
from tb_privateuse1.advice.rules import item_sync, new_pages
from tb_privateuse1.analysis.account.table import account_table
from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.analysis.simulation.dependency_graph import build_graph
from tb_privateuse1.analysis.simulation.replayed_account import CLASSES, replayed_account
from tb_privateuse1.trace.model import Trace
from tests.support import chinese
from tests.support.program import Program
from tests.support.simulate import linear, simulate, step
from tests.unit.advice.rules.test_new_pages import noted, trace


def reading(rest: int) -> Trace:
    """Build steps that read a value behind 500 us of a product, and then work on the host."""
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=500)
            with run.around("aten::item"):
                run.wait()
            run.rest(rest)
            run.op("aten::relu", 10, kernel=20)
    return run.trace()


def the(trace: Trace) -> AdviceRow:
    (row,) = advise(trace, rules=(item_sync.RULE,)).rows
    return row


def test_the_device_limits_where_the_host_is_ahead_then() -> None:
    row = the(reading(rest=300))
    assert row.next is not None
    chinese.check([row.next.statement])
    assert row.next.limit == "kernel"
    assert row.next.share_now == pytest.approx(520 / 830, rel=0.05)
    assert row.next.share > 0.95
    assert row.next.statement.startswith("Kernels: ")


def test_the_host_limits_where_it_has_more_to_do() -> None:
    row = the(reading(rest=2000))
    assert row.next is not None
    chinese.check([row.next.statement])
    assert row.next.limit == "idle"
    assert row.next.share == pytest.approx(1 - 520 / 2050, rel=0.05)
    assert "Python outside operators" in row.next.statement


def test_a_host_alone_has_no_device_that_could_idle() -> None:
    (row,) = advise(trace(noted()), rules=(new_pages.RULE,)).rows
    assert row.saving_ns
    assert row.next is None


def test_nothing_is_said_of_inferred_times() -> None:
    layers = [linear(20_000, 2_000) for _ in range(30)]
    rows = advise(simulate([step(number, *layers) for number in range(4)]).trace).rows
    assert rows
    assert {row.next for row in rows} == {None}


@pytest.mark.parametrize("trace", [reading(300), reading(2000)])
def test_the_account_of_the_recording_is_that_of_its_steps(trace: Trace) -> None:
    graph, part = build_graph(trace), judged_part(trace, None)
    own = replayed_account(trace, graph, graph.time_ns, graph.weights.length, part.steps)
    assert tuple(own) == CLASSES
    assert sum(own.values()) == pytest.approx(
        int((trace.steps.end_ns - trace.steps.start_ns)[part.steps].sum()), rel=0.01
    )
    known = {one.name: one.ns for one in account_table(trace, part.window).classes}
    assert own["kernel"] == pytest.approx(known["kernel"], rel=0.01)
