"""Attention over a cache: its work where an annotation has the lengths of the requests."""

from __future__ import annotations

from itertools import starmap
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.analysis.work.announced_attention import announced_lengths
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support.make import annotation, op, trace
from tests.support.shared_traces import FOLDER, needs_traces, read

PROMPTS, DECODES = ((5, 5), (3, 9)), ((1, 20), (1, 7))
"""Tokens and keys of each request: the second prompt has a part in the cache."""


def _sums(requests: tuple[tuple[int, int], ...]) -> str:
    sq, sk = (sum(one[i] for one in requests) for i in (0, 1))
    sqsq, sqsk = (sum(q * other for q, other in pairs) for pairs in
                  ([(q, q) for q, _ in requests], requests))  # fmt: skip
    return f"{len(requests)}(sq{sq}sk{sk}sqsq{sqsq}sqsk{sqsk})"


NAME = f"execute_10_context_{_sums(PROMPTS)}_generation_{_sums(DECODES)}"


def _pairs(queries: int, keys: int) -> int:
    """Counted one by one: each query sees the keys up to its own."""
    return sum(keys - queries + i + 1 for i in range(queries))


def _attention(name: str, *dims: list[int], around: str = NAME, values: tuple[str, ...]) -> Trace:
    shapes: dict[str, Any] = {
        "Input Dims": list(dims),
        "Input type": ["c10::BFloat16" if one else "" for one in dims],
        "Concrete Inputs": list(values),
    }
    return trace(annotation(around, 0, 100), op(name, 10, 20, **shapes))


def _work(recorded: Trace) -> tuple[int, int, int, bool]:
    work, row = operator_work(recorded), len(recorded.ops) - 1
    columns = (work.flops, work.read_bytes, work.written_bytes)
    return (*(int(one[row]) for one in columns), bool(work.at_most[row]))  # type: ignore[return-value]


def test_pairs_of_query_and_key_equal_a_count() -> None:
    found = announced_lengths(NAME)
    assert found is not None
    assert (found.queries, found.keys) == (10, 41)
    assert found.pairs == sum(starmap(_pairs, (*PROMPTS, *DECODES)))


@pytest.mark.parametrize(
    "name",
    [
        "execute_context_1(888_788544)_generation_0(0)",
        "execute_context_0(0)_generation_16(16)",
        "step[DECODE bs=32]",
        # No length has 16 digits; and a query has no fewer keys than its place in the prompt.
        f"execute_1_context_1(sq1sk1sqsq1sqsk{10**29})_generation_0(sq0sk0sqsq0sqsk0)",
        f"execute_1_context_1(sq{'9' * 5000}sk1sqsq1sqsk1)_generation_0(sq0sk0sqsq0sqsk0)",
        "execute_1_context_1(sq5sk5sqsq25sqsk2)_generation_0(sq0sk0sqsq0sqsk0)",
    ],
)
def test_an_annotation_without_all_lengths_has_none(name: str) -> None:
    assert announced_lengths(name) is None


def test_unified_attention_reads_the_cache_of_all_requests() -> None:
    # 12 rows: the batch of 10 is filled up to the size of its graph.
    q, k = [12, 8, 4], [12, 2, 4]
    recorded = _attention("vllm::unified_attention_with_output", q, k, k, q, values=("",) * 4)
    pairs = sum(starmap(_pairs, (*PROMPTS, *DECODES)))
    read = 2 * (10 * 8 * 4 + 41 * 2 * (4 + 4))
    assert _work(recorded) == (2 * pairs * 8 * (4 + 4), read, 2 * 10 * 8 * 4, True)


def test_a_batch_smaller_than_its_annotation_says_is_unknown() -> None:
    q, k = [8, 8, 4], [8, 2, 4]
    recorded = _attention("vllm::unified_attention", q, k, k, q, values=("",) * 4)
    assert _work(recorded)[0] == MISSING


def test_work_that_no_integer_holds_is_unknown() -> None:
    name = f"execute_1_context_1(sq1sk9sqsq1sqsk{10**15 - 1})_generation_0(sq0sk0sqsq0sqsk0)"
    q, k = [1, 64, 128], [1, 8, 128]
    operator = "vllm::unified_attention"
    recorded = _attention(operator, q, k, k, q, around=name, values=("",) * 4)
    assert _work(recorded)[0] == MISSING


def test_paged_attention_of_several_sequences_has_the_sum_of_their_lengths() -> None:
    name = f"execute_2_context_0(sq0sk0sqsq0sqsk0)_generation_{_sums(DECODES)}"
    q, cache = [2, 8, 4], [9, 2, 4, 16]
    dims: list[list[int]] = [q, q, cache, cache, [], [], [2, 5], [2], [], []]
    values = ("", "", "", "", "2", "0.5", "", "", "16", "20")
    recorded = _attention("_C::paged_attention_v1", *dims, around=name, values=values)
    assert _work(recorded) == (4 * 27 * 8 * 4, 2 * (2 * 27 * 2 * 4 + 64), 2 * 64, True)


def test_attention_outside_of_an_iteration_is_unknown() -> None:
    q, k = [10, 8, 4], [10, 2, 4]
    name, around = "vllm::unified_attention_with_output", "a range of the program"
    recorded = _attention(name, q, k, k, q, around=around, values=("",) * 4)
    assert _work(recorded)[0] == MISSING


@needs_traces
def test_a_recorded_mixed_iteration_has_the_work_of_each_layer() -> None:
    [path] = (FOLDER.parent / "more/rocm/vllm_moe_prefill_decode").glob("*.pt.trace.json*")
    recorded = read(Path(path))
    work, ops = operator_work(recorded), recorded.ops
    rows = [i for i in range(len(ops)) if "unified_attention" in recorded.text(ops.name[i])]
    # 9 prompts and 37 decodes: their causal pairs, by 64 heads of 64, in each of the 24 layers.
    pairs = 7_671_310 - (7_475_785 - 8_155) // 2 + 34_489
    assert work.flops[rows].tolist() == [4 * pairs * 64 * 64] * 24
