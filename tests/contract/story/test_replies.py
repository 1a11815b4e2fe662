"""Further answers that misled; ``test_answers`` has the table of points."""

from __future__ import annotations

import pytest

from tb_privateuse1.export.reports.advice import advice_text
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.advice import advice
from tb_privateuse1.views.flame import flame
from tb_privateuse1.views.memory import memory
from tb_privateuse1.views.overview import overview
from tb_privateuse1.views.roofline import roofline
from tb_privateuse1.views.whatif import whatif
from tests.contract.story.test_findings_and_calls import recording
from tests.support.make import frame, kernel, launch, op, step, trace
from tests.support.program import Program
from tests.support.results import result
from tests.support.shared_traces import needs_traces


@needs_traces
def test_a_change_of_nothing_is_refused() -> None:
    """STORY 2.1: `attention=0.3` was accepted with a gain of 0 where advice offered 33 %."""
    made = recording("h100_timesformer")
    with pytest.raises(TraceError):
        result(whatif, made, changes="attention=0.3", ranking=False)
    (offered,) = (row for row in result(advice, made).rows if row.rule == "attention_math")
    asked = result(whatif, made, changes=offered.change, ranking=False)
    assert asked.gain_ns == offered.saving_per_step_ns > 0


@needs_traces
@pytest.mark.parametrize("name", ["h100_qwen", "h100_timesformer", "mi300_nsfw_vit"])
def test_names_of_one_thing_are_one_row(name: str) -> None:
    """STORY 2.1: the first four rows were one thing by four names; Python was not among them."""
    found = result(whatif, recording(name))
    gains = [(row.free_gain_ns, row.on_path_ns) for row in found.rows[:6]]
    assert len(set(gains)) == len(gains)
    texts = [one.text for one in found.choices]
    assert any(text.startswith("function:") for text in texts)
    assert any(text.startswith("class:python") for text in texts)


@needs_traces
@pytest.mark.parametrize("name", ["torch_compile_triton", "xdit_sd35", "triton"])
def test_no_function_is_in_a_compilers_file(name: str) -> None:
    """STORY 2.2: Inductor's temporary file was called the source."""
    made = recording(name)
    verdict = overview(made).verdict
    places = [row.where for row in result(advice, made).rows]
    places += [verdict.where] if verdict is not None else []
    named = [str(one) for one in places if one is not None]
    assert not [one for one in named if "torchinductor" in one or "/tmp/" in one]


@needs_traces
@pytest.mark.parametrize("name", ["mi300_owlv2", "mi300_resnet_ddp_no_pool", "h100_qwen"])
def test_a_best_rate_is_no_roof_of_the_device(name: str) -> None:
    """STORY 2.3: batch norm was "arithmetic-limited" by the best rate of its own type."""
    found = roofline(recording(name))
    assert len({one.source for one in found.roofs}) == 1
    assert all((row.roof_share or 0) <= 1 for row in found.rows)
    norms = [row for row in found.rows if "batch_norm" in row.name]
    assert all(row.limit == "memory" for row in norms)


def check_no_step(made: Trace) -> None:
    found = result(advice, made)
    assert found.provenance.window.recorded_steps == 0
    assert "1 step" not in advice_text(found)


def test_no_step_is_named_where_none_was_recorded() -> None:
    """STORY 2.5: "3.01 s per step" and "1 steady step" of a recording without steps."""
    run = Program()
    for _ in range(40):
        run.op("aten::mm", 10, kernel=100)
        with run.around("aten::item"):
            run.wait()
        run.rest(100)
    assert result(advice, run.trace()).rows
    check_no_step(run.trace())


@needs_traces
def test_no_step_is_named_where_the_recording_has_none() -> None:
    check_no_step(recording("mi300_resnet_ddp_no_pool"))


@needs_traces
@pytest.mark.parametrize("name", ["vllm_moe_prefill_decode", "dlrm_graphs_rank0"])
def test_a_replay_error_has_no_sign(name: str) -> None:
    """STORY 2.5: "Model error > -0.01 %"."""
    said = [note.message for note in result(whatif, recording(name)).notes]
    assert not [one for one in said if "-" in one.partition("%")[0]]


@needs_traces
def test_memory_of_the_host_alone_is_said_to_be_that() -> None:
    """STORY 2.6: 8 bytes of the host were drawn as the memory of a device."""
    found = memory(recording("mi300_resnet_ddp_no_pool"))
    assert found.device == "0/-1"
    assert [note.code for note in found.notes] == ["device_not_reported"]


def test_what_fills_a_flame_graph_has_a_share() -> None:
    """STORY 2.7: a waiting thread filled the left half and said 0 %."""
    made = trace(
        step(1, 0, 100), step(2, 100, 200),
        op("aten::mm", 10, 20), launch(11, 12, 1), kernel("gemm", 13, 90, 1),
        frame("threading.py(1): wait", 0, 200, thread=2),
        op("aten::mm", 110, 120), launch(111, 112, 2), kernel("gemm", 113, 190, 2),
    )  # fmt: skip
    for window in ("steady", "all"):
        found = flame(made, by="host", window=window)
        for row in found.rows:
            assert row.window_share is not None
            assert row.window_share == pytest.approx(row.total_ns / found.window_ns, abs=0.01)
