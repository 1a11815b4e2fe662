"""Further figures that contradicted each other; ``test_figures`` has the table of points."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tb_privateuse1.advice.engine import built_in_advice
from tb_privateuse1.analysis.account.table import Account
from tb_privateuse1.analysis.recording.iterations import has_steps
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.advice import AdviceTable, advice
from tb_privateuse1.views.distributed import distributed
from tb_privateuse1.views.overview import Overview, overview
from tb_privateuse1.views.quality import quality
from tb_privateuse1.views.runtime import runtime
from tests.support.make import Event, kernel, launch, op, span, trace
from tests.support.program import Program
from tests.support.repeats import sampled
from tests.support.results import result
from tests.support.shared_traces import MORE, TRACES, load, needs_traces
from tests.unit.analysis.recording.test_phases import slow_launch
from tests.unit.analysis.recording.test_window import drained

START_UP = slow_launch("gemm", 20_000).trace()


def recording(name: str) -> Trace:
    """Return the shared recording of a folder."""
    return load(next(path for path in (*TRACES, *MORE) if path.parent.name == name))


def account_of(answer: Overview) -> Account:
    assert answer.account is not None
    return answer.account


def share_of(account: Account, *names: str) -> float:
    return sum(one.share for one in account.classes if one.name in names)


def advised(made: Trace) -> AdviceTable:
    found = result(advice, made)
    assert isinstance(found, AdviceTable)
    return found


def check_idle(made: Trace) -> None:
    """Verdict, utilization, account and advice are of the window that the answer names."""
    answer = overview(made)
    window, account = answer.provenance.window, account_of(answer)
    assert window is not None
    assert answer.utilization == pytest.approx(1 - account.idle_ns / account.window_ns)
    assert account.window_ns == window.time_ns
    if answer.verdict is not None:
        assert answer.verdict.judged_ns == window.time_ns
        idle = percent(account.idle_ns / account.window_ns)
        assert f"idle for {idle}" in answer.verdict.sentence
        assert advised(made).judged_ns == window.time_ns


@pytest.mark.parametrize("made", [drained(), START_UP])
def test_all_idle_time_is_of_one_window(made: Trace) -> None:
    """STORY 1.1: "idle 9.6 %" stood above "idle 97.9 %" of the recording."""
    check_idle(made)


@needs_traces
@pytest.mark.parametrize(
    "name", ["sglang_decode", "vllm_moe_prefill_decode", "dlrm_graphs_rank0", "h100_qwen"]
)
def test_all_idle_time_of_a_recording_is_of_one_window(name: str) -> None:
    check_idle(recording(name))


@needs_traces
@pytest.mark.parametrize("path", sampled([*TRACES, *MORE]), ids=lambda path: path.parent.name)
def test_a_device_bound_recording_is_busy(path: Path) -> None:
    """STORY 1.2: the largest of many classes was the limit, 40 % idle time above it."""
    answer = overview(load(path))
    if answer.verdict is None or answer.verdict.kind != "device" or answer.verdict.gains:
        return
    account = account_of(answer)
    assert 2 * account.idle_ns < account.window_ns


@needs_traces
def test_findings_on_idle_time_are_within_it() -> None:
    """STORY 1.2: without a replay, they claim no more than the account leaves the device idle."""
    made = recording("training")
    account, found = account_of(overview(made)), advised(made)
    of_host = [row for row in found.rows if row.rule in ("optimizer_loop", "host_bound")]
    assert len(of_host) == 2
    assert sum(row.saving_ns or 0 for row in of_host) <= account.idle_ns


def check_average(made: Trace) -> None:
    answer = overview(made)
    window, steps = answer.provenance.window, answer.account_steps
    assert window is not None
    assert answer.average_step_ns == pytest.approx(window.time_ns / window.recorded_steps, abs=1)
    assert steps


@pytest.mark.parametrize("made", [drained(), START_UP])
def test_the_average_step_is_one_of_the_steps(made: Trace) -> None:
    """STORY 1.3: the first step held the drain of earlier work, and the average with it."""
    check_average(made)


@needs_traces
@pytest.mark.parametrize(
    ("name", "least", "most"), [("dlrm_graphs_rank0", 210, 217), ("triton", 1.5, 1.6)]
)
def test_the_average_step_of_a_recording(name: str, least: float, most: float) -> None:
    made = recording(name)
    check_average(made)
    assert least < (overview(made).average_step_ns or 0) / 1e6 < most


@needs_traces
@pytest.mark.parametrize("name", ["dlrm_graphs_rank0", "nccl_ddp", "v100_ddp_small_collectives"])
def test_communication_has_one_time(name: str) -> None:
    """STORY 1.4: an instant with a copy and a collective is the copy's on both pages."""
    made = recording(name)
    account = account_of(overview(made))
    (rank,) = result(distributed, made).rows
    own = {one.name: one.ns / rank.steps for one in account.classes}
    copies = own.get("exposed_copy", 0) + own.get("exposed_fill", 0)
    assert rank.exposed_ns == pytest.approx(own["exposed_communication"], abs=1)
    assert rank.copy_ns == pytest.approx(copies, abs=2)
    assert rank.computation_ns == pytest.approx(own["kernel"], abs=1)
    assert rank.idle_ns == pytest.approx(account.idle_ns / rank.steps, abs=1)


def check_communication(made: Trace) -> None:
    share = share_of(account_of(overview(made)), "exposed_communication")
    (row,) = (row for row in advised(made).rows if row.rule == "exposed_communication")
    assert row.explanation.startswith(f"It is {percent(share)} of the analyzed time.")


def test_a_finding_on_a_class_has_the_time_of_the_account() -> None:
    """STORY 1.4: 12.7 % on one page and 15.0 % on another: the saving and the time."""
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 10, kernel=300)
            run.op("c10d::allreduce_", 5, kernel=200, device="ncclDevKernel_AllReduce")
            run.wait()
    check_communication(run.trace())


@needs_traces
def test_a_finding_on_a_class_has_the_time_of_the_account_of_a_recording() -> None:
    check_communication(recording("dlrm_graphs_rank0"))


@needs_traces
def test_an_allocator_without_a_cache_is_one_story() -> None:
    """STORY 1.5: "no call blocks the host" below "Host-blocked", and advice to clear a cache."""
    made = recording("mi300_resnet_ddp_no_pool")
    answer, found = overview(made), advised(made)
    assert answer.verdict is not None
    assert (answer.verdict.kind, answer.verdict.time_class) == ("blocked", "device_memory")
    assert not {"blocking", "allocator"} & {row.name for row in found.fine}
    first = found.rows[0]
    assert first.rule == "device_malloc"
    assert "PYTORCH_NO_CUDA_MEMORY_CACHING" in first.fix
    assert not any(word in first.fix for word in ("empty_cache", "first steps"))
    asked = {one.name: one.gain_ns for one in answer.verdict.gains}
    assert first.saving_ns == asked["device_memory"]


def sync(name: str, start: float, end: float, correlation: int = -1) -> Event:
    return span("cuda_runtime", name, start, end, correlation=correlation)


def waiting() -> Trace:
    """Build calls that wait for a busy device, and one behind which it idles."""
    return trace(
        op("aten::copy_", 0, 500), launch(2, 4, 1), kernel("gemm", 5, 400, 1),
        sync("cudaStreamSynchronize", 10, 405), op("aten::item", 500, 700),
        sync("cudaMemcpyAsync", 510, 690, 2),
        kernel("Memcpy DtoH (Device -> Pageable)", 650, 660, 2, category="gpu_memcpy"),
        op("aten::add", 800, 900), launch(810, 812, 3), kernel("add", 815, 895, 3),
    )  # fmt: skip


def check_calls(made: Trace) -> None:
    account, calls = account_of(overview(made)), runtime(made)
    assert calls.device_idle_ns is not None
    assert calls.device_idle_ns == sum(row.device_idle_ns or 0 for row in calls.rows)
    blocked = ("synchronization", "blocking_copy", "device_memory")
    least = sum(one.ns for one in account.classes if one.name in blocked)
    assert least <= calls.device_idle_ns <= account.idle_ns


def test_calls_say_for_how_long_they_leave_the_device_idle() -> None:
    """STORY 1.6: calls were 919 of 1,030 ms blocked, and 8.88 % of the account."""
    check_calls(waiting())
    rows = {row.name: row for row in runtime(waiting()).rows}
    assert rows["cudaStreamSynchronize"].blocked_ns == 395_000
    assert rows["cudaStreamSynchronize"].device_idle_ns == 5_000
    assert rows["cudaMemcpyAsync"].device_idle_ns == 170_000


@needs_traces
@pytest.mark.parametrize("name", ["dlrm_graphs_rank0", "mi300_resnet_ddp_no_pool"])
def test_calls_of_a_recording_say_for_how_long_they_leave_the_device_idle(name: str) -> None:
    check_calls(recording(name))


@needs_traces
def test_gaps_in_a_graph_are_said_to_be_its() -> None:
    """STORY 1.6: 130 to 188 ms behind ``cudaGraphLaunch``, and no word on missing nodes."""
    missing = account_of(overview(recording("dlrm_graphs_rank0"))).missing
    assert any("Nodes that are not recorded may run there" in one for one in missing)


@needs_traces
def test_a_recommender_is_no_tensor_parallelism() -> None:
    """STORY 1.6: the events are of the kind with the greatest part of the exposed time."""
    made = recording("dlrm_graphs_rank0")
    (row,) = (row for row in advised(made).rows if row.rule == "exposed_communication")
    assert "tensor parallel" not in row.explanation + row.fix
    assert "Of that time: 76.8 % all_reduce" in row.explanation
    kinds = {
        made.text(made.collectives.kind[made.collectives.kernel == example.row][0])
        for example in row.evidence
    }
    assert kinds == {"all_reduce"}


@needs_traces
@pytest.mark.parametrize("name", ["h100_qwen", "mi300_nsfw_vit"])
def test_no_text_of_the_recording_says_no_findings(name: str) -> None:
    """STORY 1.8: it stood for "no defect of the recording" beside "2 high findings"."""
    made = recording(name)
    assert advised(made).rows
    assert "finding" not in str(result(quality, made)).lower().replace("finding(", "")


def check_no_step(made: Trace) -> None:
    """No title and no explanation counts by a step that was not recorded."""
    assert not has_steps(made)
    for row in built_in_advice(made).rows:
        for said in (row.title, row.explanation):
            assert not re.search(r"\b(a|each|per|the) step\b", said), (row.rule, said)


def test_without_steps_counts_are_of_the_analyzed_time() -> None:
    """STORY 2.5: "120 times a step" of a recording without any."""
    run = Program()
    for _ in range(40):
        run.op("aten::mm", 10, kernel=20)
        with run.around("aten::item"), run.around("aten::_local_scalar_dense"):
            run.copy("DtoH", 2)
        run.rest(50)
    made = run.trace()
    titles = [row.title for row in built_in_advice(made).rows]
    assert any("in the analyzed time" in title for title in titles), titles
    check_no_step(made)


@needs_traces
def test_no_finding_names_a_step_of_recordings_without_steps() -> None:
    small = [path for path in (*TRACES, *MORE) if path.stat().st_size < 1_000_000]
    found = [one for one in map(load, small) if len(one.steps) and not has_steps(one)]
    assert found
    for made in found:
        check_no_step(made)
