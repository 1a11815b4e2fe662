"""Serving by phase: times, tokens and what the host leaves idle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1.trace import device_times
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.serving import ServingGeneration, serving
from tests.support.make import annotation, kernel, launch, step, trace
from tests.support.serving import loop
from tests.support.serving_count import by_lookup
from tests.support.shared_traces import read

GOLDEN = Path(__file__).parents[2] / "traces" / "generate_four" / "refdev.1.pt.trace.json.gz"
"""Four sequences with a cache, on the reference device: a prompt of 5 tokens, 5 more of each."""


def test_phases_have_times_tokens_and_shares() -> None:
    result = serving(trace(*loop(4, prompt=7, new=3)))
    prefill, decode = result.phases
    assert (prefill.kind, prefill.iterations, prefill.tokens) == ("prefill", 1, 28)
    assert (decode.iterations, decode.requests, decode.tokens) == (2, 4.0, 8)
    # The last one ends with its own work, at 275: the other one counts for the median.
    assert (decode.time_ns, decode.median_ns, decode.p95_ns) == (175_000, 100_000, 100_000)
    assert decode.token_rate == pytest.approx(8 / 175e-6)
    assert (decode.device_ns, decode.exposed_ns) == (80_000, 95_000)
    assert decode.exposed_share == pytest.approx(95 / 175)
    assert decode.device_share == pytest.approx(80 / 175)
    assert (decode.time_bound_ns, decode.device_bound_ns, decode.exposed_bound_ns) == (0, 0, 0)


def test_a_plain_loop_has_its_generations() -> None:
    result = serving(trace(*loop(4, prompt=7, new=3)))
    assert result.generations == (
        ServingGeneration(
            start_ns=0, requests=4, prompt_tokens=7, new_tokens=3, first_token_ns=100_000,
            later_token_ns=87_500, total_ns=275_000,
        ),
    )  # fmt: skip
    assert (result.repeated, result.missing) == (0, ())


def test_a_loop_without_a_cache_says_so() -> None:
    result = serving(trace(*loop(1, prompt=5, new=4, cache=False)))
    assert (result.repeated, result.generations[0].new_tokens) == (3, 4)


def _engine(count: int) -> Trace:
    """Iterations of 100 us with a kernel of 70 us that begins late."""
    events = []
    for i in range(count):
        at = 100.0 * i
        events += [
            annotation("execute_context_0(0)_generation_8(8)", at, at + 50),
            launch(at + 5, at + 6, i + 1),
            kernel("gemm", at + 40, at + 110, i + 1),
        ]
    return trace(*events)


def test_the_last_iteration_ends_with_its_work_on_the_device() -> None:
    rows = serving(_engine(3)).rows
    assert [(row.time_ns, row.ends) for row in rows] == [
        (100_000, "next"), (100_000, "next"), (110_000, "work"),
    ]  # fmt: skip
    assert [row.device_ns for row in rows] == [70_000] * 3
    # The kernel of the one before runs into the next one.
    assert [row.exposed_ns for row in rows] == [40_000, 30_000, 30_000]


def test_what_is_not_recorded_is_null_with_a_reason() -> None:
    result = serving(_engine(3))
    assert {(one.figure, one.iterations) for one in result.missing} == {
        ("context", 3), ("bytes_per_s", 3), ("generations", 3),
    }  # fmt: skip
    assert result.generations == ()
    assert result.rows[0].bytes_per_s is None


def test_a_recording_without_device_times_has_no_exposed_time() -> None:
    events = [annotation(f"step[DECODE bs={i + 1}]", 100 * i, 100 * i + 50) for i in range(3)]
    result = serving(trace(*events))
    assert [row.exposed_ns for row in result.rows] == [None] * 3
    assert result.phases[0].exposed_share is None
    assert "device_ns" in {one.figure for one in result.missing}


def test_a_step_has_the_iterations_that_begin_in_it() -> None:
    made = trace(step(1, 0, 150), step(2, 150, 300), *loop(1, prompt=5, new=3))
    assert len(serving(made).rows) == 3
    assert len(serving(made, step=2).rows) == 1
    with pytest.raises(TraceError, match="There is no step 9"):
        serving(made, step=9)


def test_an_empty_trace_has_nothing() -> None:
    result = serving(Trace())
    assert (result.phases, result.rows, result.missing) == ((), (), ())


def test_a_recorded_loop_equals_a_count_of_its_file() -> None:
    made, counted = read(GOLDEN), by_lookup(GOLDEN, words=96)
    result = serving(made)
    assert [(row.kind, row.requests, row.tokens) for row in result.rows] == [
        (one.kind, one.requests, one.tokens) for one in counted
    ]
    assert [row.time_ns for row in result.rows[:-1]] == [one.time_ns for one in counted[:-1]]
    assert [row.context for row in result.rows] == [20, 24, 28, 32, 36, 40]
    assert [(one.requests, one.prompt_tokens, one.new_tokens) for one in result.generations] == [
        (4, 5, 6)
    ]
    assert all(row.device_bound_ns is not None for row in result.rows)


def test_the_kernels_are_not_read_again_for_each_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    known = device_times.known_times

    def counted(one: Trace) -> device_times.Known:
        asked.append(len(one.kernels))
        return known(one)

    monkeypatch.setattr(device_times, "known_times", counted)
    counts = []
    for iterations in (10, 100):
        asked.clear()
        assert serving(_engine(iterations)).total_rows == iterations
        counts.append(len(asked))
    assert counts[0] == counts[1]
