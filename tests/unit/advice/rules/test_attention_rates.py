"""Fused attention below the best rate of the recording."""

from tb_privateuse1.advice.rules.attention_rates import RULE
from tb_privateuse1.trace.model import Trace
from tests.support.chains import program
from tests.support.program import found
from tests.support.sized import SizedProgram, full

H100 = [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}]


def attend(
    run: SizedProgram, size: int = 64, *, batch: int = 4, queries: int = 2048, keys: int = 2048,
    slow: float = 1, masked: bool = False,
) -> None:  # fmt: skip
    """Fused attention of 16 heads."""
    cache = full(batch, 16, keys, size)
    name, given = "aten::_scaled_dot_product_flash_attention", ["0.0", "False"]
    if masked:
        name, given = "aten::_scaled_dot_product_efficient_attention", ["False", "0.0", "False"]
    mask = [full(1, 1, queries, keys)] if masked else []
    run.run(name, full(batch, 16, queries, size), cache, cache, *mask, *given, slow=slow)


def trace(
    slow: float, size: int = 64, *, batch: int = 4, queries: int = 2048, keys: int = 2048,
    reference: int = 2048,
) -> Trace:  # fmt: skip
    def layer(run: SizedProgram) -> None:
        attend(run, queries=reference)
        attend(run, size, batch=batch, queries=queries, keys=keys, slow=slow)

    return program(layer).trace(deviceProperties=H100)


def test_odd_heads_are_named() -> None:
    (row,) = found(RULE, trace(3, size=72))
    assert row.title == "Attention far below the best rate here: 1 shape"
    assert "Its heads have 72 elements, no multiple of 32" in row.explanation
    assert row.saving_share is not None
    assert 0.3 < row.saving_share < 0.6
    assert "sdpa_kernel" in row.fix


def test_a_little_less_is_usual() -> None:
    assert found(RULE, trace(1.5, size=72)) == []


def test_shorter_sequences_may_be_slower() -> None:
    assert found(RULE, trace(4, queries=512, keys=512)) == []


def test_few_blocks_leave_units_without_work() -> None:
    (row,) = found(RULE, trace(4, batch=1, queries=512, keys=32768, reference=1024))
    assert "It has 64 blocks of queries for 132 units" in row.explanation


def test_a_mask_is_named() -> None:
    def layer(run: SizedProgram) -> None:
        attend(run)
        attend(run, masked=True, slow=4)

    (row,) = found(RULE, program(layer).trace(deviceProperties=H100))
    assert "It has a mask as a tensor" in row.explanation


def decoding(slow: float) -> Trace:
    def layer(run: SizedProgram) -> None:
        attend(run, batch=16, queries=1, keys=4096)
        attend(run, batch=16, queries=1, keys=8192, slow=slow)

    return program(layer).trace(deviceProperties=H100)


def test_single_queries_are_compared_by_bytes() -> None:
    (row,) = found(RULE, decoding(3))
    assert "GB/s" in row.explanation
    assert "With 1 queries a head it reads keys and values" in row.explanation


def test_reading_at_the_best_rate_is_as_it_should_be() -> None:
    assert found(RULE, decoding(1)) == []
