"""Iterations of real recordings equal a count of the raw JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1.views.serving import serving
from tests.support.serving_count import Counted, by_annotation, by_lookup
from tests.support.shared_traces import FOLDER, needs_traces, read

SHARED = FOLDER.parent
BY_ANNOTATION = (
    "cases/serving-iterations",
    "traces/rocm/sglang_decode",
    "traces/rocm/vllm_decode_graph",
    "traces/cuda/b200_eager",
    "more/rocm/vllm_moe_prefill_decode",
)
WORDS = 60
"""Rows of the table of words in ``h_busy_gpt_generate``."""


def compare(path: Path, counted: list[Counted], exact: int) -> None:
    """The view has these iterations; the first times are those to the next one."""
    trace = read(path)
    rows = serving(trace).rows
    assert [(row.kind, row.requests, row.tokens) for row in rows] == [
        (one.kind, one.requests, one.tokens) for one in counted
    ]
    starts = [row.start_ns + trace.start_ns for row in rows]
    assert starts == [one.start_ns for one in counted]
    times = [(row.time_ns, one.time_ns) for row, one in zip(rows, counted, strict=True)
             if row.ends == "next"]  # fmt: skip
    assert [shown for shown, _ in times] == [own for _, own in times]
    assert len(times) == exact


@needs_traces
@pytest.mark.parametrize("name", BY_ANNOTATION)
def test_annotated_iterations_equal_a_count_of_the_file(name: str) -> None:
    [path] = (SHARED / name).glob("*.pt.trace.json*")
    counted = by_annotation(path)
    compare(path, counted, len(counted) - 1)


@needs_traces
def test_lookups_equal_a_count_of_the_file() -> None:
    [path] = (SHARED / "more/privateuse1/h_busy_gpt_generate").glob("*.pt.trace.json*")
    counted = by_lookup(path, WORDS)
    assert len(counted) == 20
    # The last one of each of the two generations ends with its own work.
    compare(path, counted, 18)


@needs_traces
def test_a_single_iteration_takes_its_own_work_without_the_drain() -> None:
    [path] = (SHARED / "more/rocm/vllm_moe_prefill_decode").glob("*.pt.trace.json*")
    (row,) = serving(read(path)).rows
    # 413 kernels and 10 copies of 156.086 ms in all run behind 151 ms of earlier work.
    assert (row.context, row.device_ns) == (8430 + 34489, 156_085_793)
    assert row.exposed_ns is not None
    assert row.time_ns == 156_085_793 + row.exposed_ns


@needs_traces
@pytest.mark.parametrize("name", ["cuda/h100_qwen", "cuda/h100_bert", "rocm/sglang_decode_capture"])
def test_what_generates_nothing_has_no_iteration(name: str) -> None:
    [path] = (FOLDER / name).glob("*.pt.trace.json*")
    assert serving(read(path)).rows == ()
