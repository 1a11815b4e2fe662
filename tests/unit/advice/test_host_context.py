"""Rules on device work, asked of a recording of a host alone."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.host_context import HostContext
from tb_privateuse1.advice.judged_trace import LACKS
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.trace import intervals
from tests.support.program import Program
from tests.support.sized import FP32, SizedProgram, recorded


def program() -> SizedProgram:
    """Three steps with a wrapper, a product of 100 us in it, and 10 us of Python."""
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            with run.around("aten::matmul", host=5):
                run.op("aten::mm", 100, **recorded(((64, 64), FP32), ((64, 64), FP32)))
            run.rest(10)
    return run


def context() -> HostContext:
    return HostContext(RuleContext(program().trace()))


def test_work_and_calls_share_the_time() -> None:
    case = context()
    assert intervals.length(case.limits.busy) == 300_000
    assert intervals.length(case.idle) == case.window_ns - 300_000
    assert "work" in case.has
    assert "device" not in case.has


def test_the_host_lacks_no_device_to_be_surer() -> None:
    for case in (context(), RuleContext(program().trace())):
        assert case.lacks("device", "stacks") == (LACKS["stacks"],)


def test_all_work_is_awaited() -> None:
    case = context()
    spent = case.time(np.arange(3), "kernels")
    assert intervals.length(case.of_device(spent)) == 300_000


def test_a_removal_has_calls_without_their_work_and_shares_of_work() -> None:
    case = context()
    outer = case.ops(r"^aten::matmul$")
    calls = case.without(ops=outer).ranges
    assert int((calls.end_ns - calls.start_ns).sum()) == 3 * 10_000
    half = case.without(kernels=np.arange(3), share=0.5).ranges
    assert int((half.end_ns - half.start_ns).sum()) == 3 * 50_000
    assert len(case.without(kernels=np.arange(3)).kernels) == 0


def test_an_activity_is_shown_as_its_operator() -> None:
    (one, *_) = context().examples("kernels", np.arange(3))
    assert (one.table, one.name) == ("ops", "aten::mm")


def test_rules_on_work_are_asked_of_a_host_alone() -> None:
    asked = {one.rule for one in advise(program().trace()).asked if one.answer != "not_asked"}
    wanted = {name for name, rule in RULES.items() if "work" in rule.needs}
    assert len(wanted) >= 16
    missing = {name for name in wanted - asked if not {"memory", "pages"} & {*RULES[name].needs}}
    assert missing - {"needless_recompute"} == set()


def test_beside_a_device_nothing_changes() -> None:
    run = Program()
    with run.step():
        run.op("aten::mm", 10, kernel=100)
        run.wait()
    case = RuleContext(run.trace())
    assert {"device", "work"} <= case.has
    assert not case.is_host
