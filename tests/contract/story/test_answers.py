"""Answers that misled on recordings: what STORY.md lists in its second section.

| point | what misled | test here | test of the mechanism |
|---|---|---|---|
| 2.1 | a change that matches nothing gains 0 % | ``test_a_change_of_nothing`` | same |
| 2.2 | a function's first line as "source line" | ``test_functions`` | ``analysis/operators`` |
| 2.3 | the best rate seen as a solid roof | ``test_roofs_have_a_source`` | ``analysis/roofs`` |
| 2.4 | a diff of left-out steps, noise, devices | ``test_left_out_*``, ``test_a_change_*`` | same |
| 2.5 | a histogram of host time below device time, an odd start | of the pages | |
| 2.6 | a run that fails kills the page of all runs | ``views/test_history`` | same |
| 2.7 | a waiting thread fills the flame graph and says 0 % | ``test_waiting_threads`` | |
"""

from __future__ import annotations

import pytest

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.diff import diff
from tb_privateuse1.views.flame import flame
from tb_privateuse1.views.lookups.hotspots import hotspots
from tb_privateuse1.views.roofline import roofline
from tb_privateuse1.views.whatif import whatif
from tests.contract.story.test_figures import recorded
from tests.support.make import Event, kernel, launch, op, step, trace
from tests.support.program import Program, device_bound
from tests.support.results import result
from tests.support.shared_traces import needs_traces
from tests.unit.analysis.recording.test_phases import slow_launch, steps

STEADY = steps(Program(), 4).trace()


@pytest.mark.parametrize("change", ["attention=0.3", "aten::nothing=0", "kernel:nothing=0"])
def test_a_change_of_nothing(change: str) -> None:
    """2.1: the answer was "gain 0 %", as if the change had been made."""
    with pytest.raises(TraceError, match=r".") as error:
        result(whatif, STEADY, changes=change, ranking=False)
    assert error.value.code == "bad_change"


@needs_traces
@pytest.mark.parametrize(
    ("name", "change"),
    [("cuda/h100_timesformer", "class:python=0"), ("cuda/dlrm_graphs_rank0", "class:queued_gap=0")],
)
def test_what_is_most_of_a_path_can_be_chosen(name: str, change: str) -> None:
    """2.1: Python and driver calls could not be chosen, though they were 58 and 98 % of paths."""
    asked = result(whatif, recorded(name), changes=change, ranking=False)
    assert asked.gain_share > 0.4


@needs_traces
def test_functions() -> None:
    """2.2: 108 of 120 functions had one line only, where the function begins."""
    rows = hotspots(recorded("cuda/h100_qwen"), by="function").rows
    assert rows[0].name == "Qwen2MLP.forward (transformers/models/qwen2/modeling_qwen2.py:56)"


@needs_traces
@pytest.mark.parametrize("name", ["rocm/xdit_sd35", "rocm/vllm_moe_prefill_decode"])
def test_roofs_have_a_source(name: str) -> None:
    """2.3: the best rate of a recording was a roof, and differed by 250 on one device."""
    answer = roofline(recorded(name))
    seen = {one.name for one in answer.roofs if one.source == "best_seen"}
    assert all(one.kind == "memory" for one in answer.roofs if one.name in seen)
    assert not [one.name for one in answer.rows if one.limit == "compute" and one.roof in seen]


OTHER = slow_launch("other", 20_000).trace()
"""Its first step starts up, and runs the kernel ``other``."""


def test_left_out_work_is_named() -> None:
    """2.4: "0 ns, no change" though what only one recording has is in the step that is left out."""
    found = diff(OTHER, slow_launch("gemm", 20_000).trace())
    assert "other" not in {one.name for one in found.rows}
    (note,) = (one for one in found.notes if one.code == "left_out_new")
    assert "other" in str(note.message)
    assert "steady: " in str(note.message)
    (note,) = (one for one in diff(STEADY, OTHER).notes if one.code == "left_out_gone")
    assert "other" in str(note.message)


def test_left_out_work_of_both_is_no_news() -> None:
    codes = {one.code for one in diff(OTHER, OTHER).notes}
    assert not {"left_out_new", "left_out_gone"} & codes
    codes = {one.code for one in diff(OTHER, STEADY, window="all").notes}
    assert not {"left_out_new", "left_out_gone"} & codes


def short(names: list[str], us: float = 50) -> Trace:
    """Return four steps of operators, each with one kernel."""
    run = Program()
    for _ in range(4):
        with run.step():
            for name in names:
                run.op(name, 10, kernel=us)
            run.wait()
    return run.trace()


def test_what_is_new_or_gone_is_listed_whatever_its_time() -> None:
    now, base = short(["aten::mm", "aten::add"]), short(["aten::mm", "aten::mul"])
    status = {one.name: one.status for one in diff(now, base, time="host").rows}
    assert (status["aten::add"], status["aten::mul"]) == ("new", "gone")
    tiny = {one.name: one for one in diff(short(["aten::mm"], 0.001), short([])).rows}
    assert tiny["aten::mm"].status == "new"


LONGER = [159, 151, 141, 161, 149, 168]
SHORTER = [152, 118, 108, 124, 115, 152]
"""Steps of two recordings: 20.7 % more of the first was called "within noise"."""


def lasting(lengths_ms: list[int], first: int = 1) -> Trace:
    """Return steps of these lengths, numbered from ``first``, with a kernel nearly as long."""
    made: list[Event] = []
    at = 0.0
    for i, ms in enumerate(lengths_ms):
        end = at + 1000 * ms
        made += [
            step(first + i, at, end), op("aten::mm", at + 1, at + 20),
            launch(at + 5, at + 9, i + 1), kernel("gemm", at + 10, end - 10, i + 1),
        ]  # fmt: skip
        at = end
    return trace(*made)


def test_a_change_of_each_step_is_no_noise() -> None:
    """2.4: Welch's t is 3, and each of six steps is longer, by 7 to 37 ms: t of the pairs is 5."""
    found = diff(lasting(LONGER), lasting(SHORTER))
    for one in (found.figures[0], *found.account, *found.rows):
        if one.change_ns:
            assert one.verdict == "longer"
    figures = [one for one in (*found.figures, *found.account) if one.noise_ns is not None]
    assert {one.test for one in figures} == {"paired"}
    assert found.figures[0].change_share == pytest.approx(0.208, abs=0.002)
    assert found.explanation is not None
    assert [one.verdict for one in found.explanation.reasons] == ["longer"]


def test_steps_of_other_names_are_not_paired() -> None:
    """2.4: which step of the base a step would belong to is not known: Welch's interval."""
    step_figure = diff(lasting(LONGER, first=11), lasting(SHORTER)).figures[0]
    assert (step_figure.test, step_figure.verdict) == ("welch", "within_noise")


def test_without_a_spread_there_is_no_test() -> None:
    one = diff(lasting([10]), lasting([12])).figures[0]
    assert (one.noise_ns, one.test, one.verdict) == (None, None, "unknown")


def test_one_long_step_does_not_move_the_median() -> None:
    """2.4: means of a few steps follow the longest one; pairs show which step it is."""
    run = Program()
    for us in (50, 50, 5000, 50, 50):
        with run.step():
            run.op("aten::mm", 10, kernel=us)
            run.wait()
    found = diff(run.trace(), short(["aten::mm"]), window="all")
    whole = found.figures[0]
    assert found.base_median_ns is not None
    assert found.now_median_ns is not None
    assert whole.change_ns is not None
    assert whole.change_ns > 500_000
    assert abs(found.now_median_ns - found.base_median_ns) < 10_000
    assert max(one.change_ns or 0 for one in found.steps) > 4_000_000
    assert whole.verdict == "within_noise"


def test_another_device_comes_before_the_code() -> None:
    """2.4: 38 of 41.7 ms were charged to the code, though the devices differ."""
    names = ("A100", "H100")
    base, now = (device_bound().trace(deviceProperties=[{"id": 0, "name": name}]) for name in names)
    found = diff(now, base)
    (one,) = (one for one in found.conditions if one.name == "device")
    assert (one.base, one.now) == names
    if found.explanation is not None:
        kinds = {one.kind for one in found.explanation.reasons}
        assert "speed" not in kinds


@needs_traces
def test_waiting_threads() -> None:
    """2.7: a thread that waits filled the left half of the host's flame graph, and said 0 %."""
    made = recorded("cuda/h100_timesformer")
    by_host = flame(made, by="host").rows
    widest = max((one for one in by_host if one.parent is None), key=lambda one: one.total_ns)
    assert widest.window_share is None or widest.window_share > 0.1, widest.name
