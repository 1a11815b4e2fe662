"""Products with few rows, whose time is that of their weights."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.rules.weight_reads import RULE
from tb_privateuse1.trace.model import Trace
from tests.support import chains, make
from tests.support.graphs import call, captured
from tests.support.program import found
from tests.support.sized import BF16, SizedProgram, full, recorded, unshaped

H100 = [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132, "computeMajor": 9}]


def program(rows: int, slow: float = 1.0, size: int = 8192, fast: int = 0) -> SizedProgram:
    """Return steps with products of few rows, and one of ``fast`` columns at the full rate."""
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for _ in range(6):
                run.run("aten::relu", chains.X)
                run.product(rows, size, size, slow=slow)
            if fast:
                run.product(rows, size, fast)
            run.product(4096, 1024, 1024)
            run.wait()
    return run


def test_reading_slower_than_a_product_of_no_more_bytes_can_reach_its_rate() -> None:
    (row,) = found(RULE, program(rows=4, slow=2, fast=4096).trace())
    assert row.title.startswith("Products with few rows read their weights at 519.5 GB/s")
    assert row.saving_share is not None
    assert 0.35 < row.saving_share < 0.45


def test_slow_reading_is_no_waste_where_no_product_reads_faster() -> None:
    (row,) = found(RULE, program(rows=4, slow=2).trace())
    assert row.title.endswith("499.4 GB/s, 53.6 % of what memory reaches")
    assert (row.saving_ns, row.severity) == (None, "note")


@pytest.mark.long
def test_a_product_of_more_bytes_says_nothing_of_smaller_ones() -> None:
    """Larger ones fill the device better."""
    (row,) = found(RULE, program(rows=4, slow=2, fast=16384).trace())
    assert row.saving_ns is None


def test_reading_at_full_rate_is_named_without_a_saving() -> None:
    (row,) = found(RULE, program(rows=4).trace())
    assert (row.saving_ns, row.severity) == (None, "note")


def test_many_rows_are_arithmetic() -> None:
    assert found(RULE, program(rows=4096, size=2048).trace()) == []


def only_products(dtype: str, rows: int = 4, slow: float = 1.0) -> SizedProgram:
    """Return steps in which no product does more arithmetic than another one."""
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for _ in range(6):
                run.run("aten::relu", chains.X)
                run.product(rows, 4096, 4096, dtype=dtype, slow=slow)
            run.wait()
    return run


def test_products_that_only_read_are_found_where_nothing_is_faster() -> None:
    """Without a data sheet, the best rate of a product is that of reading its weights."""
    (row,) = found(RULE, only_products(BF16).trace())
    assert row.saving_ns is None


def test_float32_weights_save_half_of_their_bytes() -> None:
    (row,) = found(RULE, only_products("float").trace())
    assert row.saving_share is not None
    assert 0.3 < row.saving_share < 0.5


def test_time_beyond_the_bytes_may_be_arithmetic_where_no_rate_of_it_is_known() -> None:
    assert found(RULE, only_products("float", slow=1.4).trace()) == []


def test_float32_weights_save_what_their_reading_explains() -> None:
    """A larger product shows how little the arithmetic takes; the time beyond both stays."""
    run = only_products("float", slow=1.4)
    with run.step():
        run.product(4096, 4096, 4096, dtype="float")
        run.wait()
    (row,) = found(RULE, run.trace())
    assert row.saving_share is not None
    assert 0.2 < row.saving_share < 0.5 / 1.4


def test_training_gets_no_advice_on_serving() -> None:
    """Its weights are read by the optimizer as well, and casts would be repeated in each step."""
    run = only_products("float")
    with run.step():
        run.op("autograd::engine::evaluate_function: MmBackward0", 5)
        run.wait()
    assert found(RULE, run.trace()) == []


def test_large_products_alone_are_arithmetic() -> None:
    assert found(RULE, only_products("float", rows=4096).trace()) == []


def decoding(rows: int, us: float, shapes: bool = True) -> Trace:
    """Steps that replay a graph with a product of 134 MB of weights: 45 us at the least."""
    operands = recorded(full(rows, 8192), full(8192, 8192)) if shapes else {}
    events = captured(10, inputs={"mm": operands})
    for i in range(6):
        at = 1000 + 10 * us * i
        events += [
            make.step(i, at, at + 9 * us),
            call("cudaGraphLaunch", at + 1, i + 1),
            make.kernel("mm_kernel", at + 5, at + 3 + 8 * us, i + 1),
            make.kernel("add_kernel", at + 3 + 8 * us, at + 5 + 8 * us, i + 1),
            make.span("cuda_runtime", "cudaStreamSynchronize", at + 3, at + 6 + 8 * us),
        ]
    return make.trace(*events, deviceProperties=H100)


def test_products_of_a_replay_have_the_weights_of_the_capture() -> None:
    (row,) = found(RULE, decoding(rows=4, us=12))
    assert (row.events, row.saving_ns) == (6, None)
    assert row.title.endswith("1,429 GB/s, 47.4 % of what memory reaches")


def test_replays_without_shapes_say_nothing() -> None:
    assert found(RULE, decoding(rows=4, us=12, shapes=False)) == []


def sampling(*, between: bool, rows: int = 4, other: int = 4) -> SizedProgram:
    """Each step calls a model twice, with other work between the calls or without any."""
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for number, size in enumerate((rows, other)):
                with run.frame("nn.Module: Guided_0"):
                    run.rest(1)
                    for _ in range(3):
                        run.run("aten::relu", chains.X)
                        run.product(size, 8192, 8192)
                if between and not number:
                    run.run("aten::argmax", chains.X, "-1", "False")
            run.product(4096, 1024, 1024)
            run.wait()
    return run


def test_passes_that_follow_each_other_fit_into_one_batch() -> None:
    (row,) = found(RULE, sampling(between=False).trace())
    assert "calls of Guided directly follow one of equal shapes" in row.explanation
    assert row.fix.startswith("If the second of two passes does not read the first one's result")
    assert row.code is not None
    assert "chunk(2)" in row.code.after


@pytest.mark.parametrize(
    "run", [sampling(between=True), sampling(between=False, other=8), program(rows=4)]
)
def test_other_passes_keep_the_advice_on_bytes(run: SizedProgram) -> None:
    """A word is chosen from the first pass for the second, other shapes, or no modules at all."""
    (row,) = found(RULE, run.trace())
    assert "directly follow" not in row.explanation
    assert row.fix.startswith("Keep float32 weights in bf16")


OUT = full(32, 2048)


def guided(
    behind: str = "aten::lerp", results: int = 2, passes: int = 2, other: int = 1
) -> SizedProgram:
    """A model is asked twice, with products whose time is half of the weights', half of the rows'.

    A product of the same weights with ``other`` rows shows it.
    """
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for _ in range(passes):
                with run.frame("nn.Module: Denoiser_0"):
                    run.rest(1)
                    for _ in range(4):
                        product(run, 32)
                        product(run, other)
                    run.run("aten::relu", OUT)
            run.run(behind, *[OUT] * results, "4")
            run.run("aten::relu", OUT)
            run.wait()
    return run


def product(run: SizedProgram, rows: int) -> None:
    """50 us of weights, and as much for 32 rows."""
    operands = recorded(full(rows, 2048), full(2048, 2048))
    run.op("aten::mm", 3, kernel=50 + rows * 50 / 32, device="gemm", **operands)


def test_passes_that_are_compared_fit_into_one_batch() -> None:
    """Of 100 us a product half is its weights at most, and nothing at least."""
    (row,) = found(RULE, guided().trace())
    assert row.title.startswith("Two passes of Denoiser in a row may fit into one batch")
    assert (row.events, row.confidence, row.saving_low_ns) == (4, "low", 0)
    assert row.saving_share == pytest.approx(4 * (50 + 50) / (8 * (100 + 51.6)) / 2, rel=0.1)


@pytest.mark.parametrize(
    "run",
    [
        guided("aten::add"),
        guided("aten::mul", results=1),
        guided(passes=3),
        guided(passes=1),
        guided(other=32),
    ],
    ids=["residual", "chained", "iterated", "once", "one size"],
)
def test_passes_that_may_need_each_other_are_none(run: SizedProgram) -> None:
    assert found(RULE, run.trace()) == []


def test_without_shapes_a_batch_of_two_takes_as_long_as_one_pass_or_as_two() -> None:
    (row,) = found(RULE, unshaped(guided()))
    assert (row.events, row.confidence, row.saving_low_ns) == (4, "low", 0)
    assert row.saving_high_ns == pytest.approx(1000 * 4 * (4 * (100 + 51.6) + 2), rel=0.1)
    assert "was not recorded" in row.explanation


@pytest.mark.parametrize(
    "run",
    [guided("aten::add"), guided("aten::mul"), guided(passes=3), guided(passes=1)],
    ids=["residual", "scaled", "iterated", "once"],
)
def test_without_shapes_passes_that_may_need_each_other_are_none(run: SizedProgram) -> None:
    assert found(RULE, unshaped(run)) == []
