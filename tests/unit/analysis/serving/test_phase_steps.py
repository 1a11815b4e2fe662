"""A phase of serving as the window of all views: its kernels, its host time, its account."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1.analysis.serving.phase_steps import with_phase_steps
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.overview import overview
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, Selection
from tb_privateuse1.views.roofline import roofline
from tb_privateuse1.views.serving import serving
from tb_privateuse1.views.shared_options import chosen_window
from tests.support.make import kernel, launch, op, trace
from tests.support.serving import loop
from tests.support.shared_traces import read

GOLDEN = Path(__file__).parents[3] / "traces" / "generate_four" / "refdev.1.pt.trace.json.gz"


def _late_kernels() -> Trace:
    """A generation whose prompt launches a kernel of 300 us that ends in the decodes' host time."""
    late = [op("aten::mm", 80, 90, id=9001), launch(81, 82, 9001, **{"External id": 9001})]
    return trace(*loop(4, prompt=7, new=3), *late, kernel("late", 85, 150, 9001))


def test_steps_are_the_iterations_of_all_phases() -> None:
    own = with_phase_steps(_late_kernels())
    names = [own.text(name) for name in own.steps.name]
    assert names == ["prefill#1", "decode#2", "decode#3"]
    assert own.steps.host_start_ns.tolist() == [0, 100_000, 200_000]
    # The device's window of a decode begins where the prompt's last kernel ends.
    assert own.steps.start_ns.tolist() == [0, 150_000, 200_000]


def test_a_kernel_belongs_to_the_phase_that_launched_it() -> None:
    own = with_phase_steps(_late_kernels())
    prefill, decode = (chosen_window(own, None, phase) for phase in ("prefill", "decode"))
    names = [own.text(name) for name in own.kernels.name[prefill.kernels]]
    assert names == ["gemm", "late"]
    assert [own.text(name) for name in own.kernels.name[decode.kernels]] == ["gemm", "gemm"]
    assert prefill.facts.kind == "prefill"
    assert prefill.time[0].tolist() == [0]
    assert decode.facts.text.startswith("decode: ")


def test_the_sentence_counts_the_iterations_of_the_phase() -> None:
    found = overview(with_phase_steps(trace(*loop(4, prompt=7, new=3))), window="decode").recording
    assert found is not None
    assert found.sentence == "Inference, 2 decode iterations of 87.5 µs analyzed."


def test_a_phase_that_is_not_there_is_an_error() -> None:
    with pytest.raises(TraceError) as caught:
        chosen_window(with_phase_steps(_late_kernels()), None, "mixed")
    assert caught.value.code == "unknown_phase"


def test_what_generates_nothing_stays_as_it_is() -> None:
    plain = trace(op("aten::mm", 0, 10))
    assert with_phase_steps(plain) is plain


def test_account_and_kernels_of_a_phase_are_those_of_the_serving_table() -> None:
    recorded = read(GOLDEN)
    own = with_phase_steps(recorded)
    for phase in serving(recorded).phases:
        assert phase.kind != "unknown"  # it is no window
        account = overview(own, window=phase.kind).account
        assert account is not None
        assert account.window_ns == phase.time_ns
        busy = [one.ns for one in account.classes if one.name == "kernel"]
        assert busy == [phase.device_ns]
        rows = roofline(own, window=phase.kind).rows
        assert sum(row.device_ns or 0 for row in rows) == phase.device_ns


def test_a_request_of_a_phase_reads_the_trace_so(tmp_path: Path) -> None:
    found = catalog.scan(str(GOLDEN), READERS)
    reader = Reader(Store(jobs=0, cache_dir=tmp_path), found)
    options = {"window": "decode"}
    result = reader.run(Request(VIEWS["overview"], options=options))
    assert [step.name for step in result.steps][:2] == ["prefill#1", "decode#2"]
    both = Request(VIEWS["diff"], base=Selection(), options=options)
    diff = reader.run(both)
    assert (diff.base_steps, diff.now_steps) == (5, 5)
