"""FLOPs and bytes of attention calls: masks, grouped queries, layouts."""

from __future__ import annotations

from tests.unit.analysis.work.calls import flops, tensor, work

HALF = "c10::BFloat16"


def heads_first(b: int, h: int, s: int, d: int) -> dict[str, object]:
    return tensor(b, h, s, d, dtype=HALF)


def test_a_causal_call_counts_the_pairs_that_the_mask_leaves() -> None:
    name, one = "aten::_scaled_dot_product_flash_attention", heads_first(1, 1, 3, 4)
    assert flops(name, one, one, one, 0.0, True) == 2 * 6 * 8
    short = heads_first(1, 1, 2, 4)
    assert flops(name, short, one, one, 0.0, True) == 2 * 3 * 8
    assert flops(name, one, short, short, 0.0, True) == 2 * 5 * 8


def test_grouped_queries_count_every_query_head() -> None:
    q, k = heads_first(2, 8, 5, 4), heads_first(2, 2, 5, 4)
    assert flops("aten::_scaled_dot_product_flash_attention", q, k, k, 0.0, False) == (
        2 * 2 * 8 * 25 * 8
    )


def test_packed_sequences_of_equal_length() -> None:
    q, ends = tensor(12, 8, 4, dtype=HALF), tensor(4, dtype="int")
    name = "aten::_flash_attention_forward"
    assert flops(name, q, q, q, ends, ends, 4, 4, 0.0, False) == 2 * 3 * 8 * 16 * 8
    assert work(name, q, q, q, ends, ends, 5, 5, 0.0, False) is None


def test_a_mask_type_is_causal() -> None:
    one = tensor(1, 3, 1, 4, dtype=HALF)
    name, rest = "aten::_efficient_attention_forward", (None, None, None, 3, 3, 0.0)
    assert flops(name, one, one, one, *rest, 0) == 2 * 9 * 8
    assert flops(name, one, one, one, *rest, 1) == 2 * 6 * 8


def test_the_flag_must_be_recorded() -> None:
    one = heads_first(1, 1, 3, 4)
    assert work("aten::_scaled_dot_product_flash_attention", one, one, one) is None


def test_a_single_paged_sequence() -> None:
    q, cache = tensor(1, 8, 4, dtype=HALF), tensor(9, 2, 4, 16, dtype=HALF)
    tables, lengths = tensor(1, 5, dtype="int"), tensor(1, dtype="int")
    args = (q, q, cache, cache, 2, 0.5, tables, lengths, 16, 70)
    found = work("_C::paged_attention_v1", *args)
    assert found is not None
    assert found.flops == 4 * 70 * 8 * 4
    assert found.read_bytes == 2 * (2 * 70 * 2 * 4) + 2 * 32
    batch = (tensor(3, 8, 4, dtype=HALF),) * 2
    several = (*batch, *args[2:7], tensor(3, dtype="int"), 16, 70)
    assert work("_C::paged_attention_v1", *several) is None
    # The second version has three results for its partitions of the context before the query.
    partial = (tensor(1, 8, 2), tensor(1, 8, 2), tensor(1, 8, 2, 4, dtype=HALF))
    assert work("_C::paged_attention_v2", q, *partial, *args[1:]) == found
