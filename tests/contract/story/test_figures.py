"""Pages that contradicted each other on recordings: what STORY.md lists in its first section.

Most points have a test of their mechanism on a synthetic trace, too, which needs no recordings (in
``tests/unit`` where it is not here):

| point | contradiction | test here | test of the mechanism |
|---|---|---|---|
| 1.1 | the verdict's idle time is no figure's | ``test_one_window`` | ``test_one_idle_time`` |
| 1.2 | device-bound beside launch-bound | ``test_busy_first`` | ``simulation/test_verdict`` |
| 1.3 | the drain is in the average step | ``test_drains`` | ``recording/test_window`` |
| 1.4 | four accounts of one thing | ``test_one_gain`` | ``views/test_gains_agree`` |
| 1.5 | "no call blocks", but hipFree | ``test_fine`` | ``simulation/test_class_gains`` |
| 1.6 | calls block, or a queue stands still | ``test_gaps_in_queues`` | |
| 1.7 | a share without its whole | ``test_shares`` beside this folder | same |
| 1.8 | "no findings" beside findings | ``test_words_of_data_quality`` | same |
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tb_privateuse1.analysis.account.classes import IDLE
from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.advice import advice
from tb_privateuse1.views.distributed import distributed
from tb_privateuse1.views.overview import overview
from tb_privateuse1.views.runtime import runtime
from tb_privateuse1.views.whatif import whatif
from tests.support.results import result
from tests.support.shared_traces import MORE, TRACES, load, needs_traces
from tests.unit.analysis.recording.test_phases import slow_launch
from tests.unit.analysis.recording.test_window import drained

Made = Callable[[], Trace]

SYNTHETIC = pytest.mark.parametrize(
    "made", [drained, slow_launch("gemm", 20_000).trace], ids=["drained", "slow_launch"]
)
"""A recording with the drain of earlier work, and one with a slow first launch."""


def recorded(name: str) -> Trace:
    """Return the shared recording ``maker/name``."""
    (path,) = (one for one in (*TRACES, *MORE) if _is(one, name))
    return load(path)


def _is(path: Path, name: str) -> bool:
    return "/".join(path.parts[-3:-1]) == name


def check_one_window(made: Trace) -> None:
    """The verdict, the account, the utilization and the average step are of the same instants."""
    page, found = overview(made), advice(made)
    assert page.verdict is not None
    assert page.account is not None
    assert page.provenance.window is not None
    length = page.provenance.window.time_ns
    assert page.verdict.judged_ns == page.account.window_ns == length == found.judged_ns
    idle = sum(one.ns for one in page.account.classes if one.name in IDLE)
    assert idle == page.account.idle_ns
    assert page.utilization == pytest.approx(1 - page.account.idle_ns / length, abs=1e-9)
    if page.average_step_ns is not None and len(Window(made, "steady").complete_steps):
        steps = len(Window(made, "steady").complete_steps)
        assert page.average_step_ns == pytest.approx(length / steps, abs=1)


@SYNTHETIC
def test_one_idle_time(made: Made) -> None:
    check_one_window(made())


@needs_traces
@pytest.mark.parametrize(
    ("name", "idle"),
    [
        ("rocm/sglang_decode", "9.61 %"),
        ("rocm/vllm_moe_prefill_decode", "0.24 %"),
        ("cuda/dlrm_graphs_rank0", "65.0 %"),
        ("cuda/h100_qwen", "9.32 %"),
    ],
)
def test_one_window(name: str, idle: str) -> None:
    """1.1: idle for 9.6 % above 97.9 %, 0.2 % above 49.3 %, 215 ms above 246 ms."""
    made = recorded(name)
    check_one_window(made)
    page = overview(made)
    assert page.verdict is not None
    assert page.account is not None
    assert f"The device is idle for {idle}" in page.verdict.sentence
    share = 100 * page.account.idle_ns / page.account.window_ns
    assert share == pytest.approx(float(idle.split()[0]), abs=0.051)


@needs_traces
@pytest.mark.parametrize(
    "name", ["cuda/v100_ddp_small_collectives", "rocm/xdit_sd35", "mtia/training"]
)
def test_busy_first(name: str) -> None:
    """1.2: device-bound at 42.4 % idle, though what was gained lay on the host.

    ``mtia/training`` has no launches to replay: busy for more than half, it is device-bound, and
    the verdict says that it was not replayed.
    """
    found = overview(recorded(name)).verdict
    assert found is not None
    if found.kind == "device":
        assert found.judged_share > 0.5
        assert found.replayed_steps > 0 or "Not replayed" in found.sentence
    else:
        assert found.gains[0].name == found.time_class
        assert all(one.gain_ns <= found.gains[0].gain_ns for one in found.gains)


@needs_traces
def test_drains() -> None:
    """1.3: "average step 246 ms" where the program's steps take 210 to 217 ms."""
    made = recorded("cuda/dlrm_graphs_rank0")
    page = overview(made)
    assert page.average_step_ns is not None
    assert 210e6 < page.average_step_ns < 217e6
    assert result(distributed, made).rows[0].step_ns == page.average_step_ns
    assert result(whatif, made, ranking=False).measured_ns == page.average_step_ns


def check_one_gain(made: Trace) -> None:
    """A class that the verdict replays gains what the what-if says of the same steps.

    Of other steps the sentence says how many they are.
    """
    found = overview(made).verdict
    assert found is not None
    for one in found.gains:
        asked = result(whatif, made, changes=f"class:{one.name}=0", ranking=False)
        if len(asked.steps) == found.replayed_steps:
            assert asked.gain_ns == pytest.approx(one.gain_ns, rel=1e-3, abs=2), one.name
        else:
            assert f"({found.replayed_steps} of " in found.sentence


@SYNTHETIC
def test_the_gain_of_a_verdict_is_that_of_the_what_if(made: Made) -> None:
    check_one_gain(made())


@needs_traces
@pytest.mark.parametrize(
    "name",
    ["rocm/mi300_nsfw_vit", "npu/trace_view", "cuda/dlrm_graphs_rank0",
     "cuda/v100_ddp_small_collectives"],
)  # fmt: skip
def test_one_gain(name: str) -> None:
    """1.4: launch calls were 60.5 % of the path, and removing them gained 2.5 %."""
    check_one_gain(recorded(name))


@needs_traces
def test_one_exposed_communication() -> None:
    """1.4: exposed communication was 12.7 % for the advice and 15.0 % on the ranks' page."""
    made = recorded("cuda/dlrm_graphs_rank0")
    account = overview(made).account
    assert account is not None
    (of_class,) = (one for one in account.classes if one.name == "exposed_communication")
    (rank,) = result(distributed, made).rows
    steps = len(Window(made, "steady").steps)
    assert rank.exposed_ns == pytest.approx(of_class.ns / steps, abs=1)
    (row,) = (one for one in advice(made).rows if one.rule == "exposed_communication")
    asked = result(whatif, made, changes=row.change, ranking=False)
    assert row.saving_per_step_ns == pytest.approx(asked.gain_ns, rel=1e-3)


@needs_traces
def test_the_verdict_gains_what_the_advice_saves() -> None:
    """1.4: exposed communication gained 18.9 % in two steps, 12.6 % in all: the first one's excess.

    What the host gains in the first replayed step, it gains once.
    """
    made = recorded("cuda/dlrm_graphs_rank0")
    found = overview(made).verdict
    assert found is not None
    (of_class,) = (one for one in found.gains if one.name == "exposed_communication")
    (row,) = (one for one in advice(made).rows if one.rule == "exposed_communication")
    assert of_class.gain_share == pytest.approx(row.saving_share, abs=0.01)


@needs_traces
def test_fine() -> None:
    """1.5: "no call blocks the host" stood below "host-blocked: hipFree 88.6 %"."""
    made = recorded("rocm/mi300_resnet_ddp_no_pool")
    page, found = overview(made), advice(made)
    assert page.verdict is not None
    assert (page.verdict.kind, page.verdict.cause) == ("blocked", "hipFree")
    assert not {"blocking", "allocator"} & {one.name for one in found.fine}
    first = found.rows[0]
    assert first.rule == "device_malloc"
    assert "caching allocator is off" in first.explanation
    assert first.fix.startswith("Switch the caching allocator on")
    assert "empty_cache" not in first.fix


@needs_traces
def test_gaps_in_queues() -> None:
    """1.6: calls block for most of the step since the device leaves gaps in queued work.

    Both figures stay: what blocks is the host's time, and the account names why the device stands
    still. Its advice was tensor parallelism, with examples of the collective with 20 %.
    """
    made = recorded("cuda/dlrm_graphs_rank0")
    page, calls, found = overview(made), runtime(made), advice(made)
    assert page.verdict is not None
    assert page.verdict.kind == "queue"
    assert page.provenance.window == calls.provenance.window
    assert calls.length_ns < page.verdict.judged_ns * 1.01
    (row,) = (one for one in found.rows if one.rule == "exposed_communication")
    assert "tensor parallel" not in row.fix.lower()
    assert page.account is not None
    assert any("Nodes that are not recorded may run there" in one for one in page.account.missing)


def test_words_of_data_quality() -> None:
    """1.8: the words "no findings" of the data stood beside "2 high findings" of the advice."""
    words = Path(__file__).parents[3] / "frontend" / "src" / "i18n" / "en" / "pages" / "shared.ts"
    assert "no findings" not in words.read_text("utf-8").lower()
