"""Batches whose lengths are recorded, batches with a mask of lengths, and causal masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tb_privateuse1.advice.rules.padding import RULE
from tb_privateuse1.analysis.idioms.padded_batches import padded_batches
from tests.support.program import found
from tests.support.sized import FP32, SizedProgram, full, recorded

SIZE, LENGTH, WIDTH = 8, 512, 1024
LENGTHS = (512, 64, 128, 256, 64, 128, 256, 128)
PADDED = 1 - sum(LENGTHS) / (SIZE * LENGTH)
INDEX = "long int"
Body = Callable[[SizedProgram], None]


def steps(body: Body, works: bool = True) -> SizedProgram:
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            body(run)
            if works:
                work(run)
            run.product(3000, WIDTH, WIDTH)
            run.wait()
    return run


def work(run: SizedProgram) -> None:
    """Two layers over all places, one of them on flat rows."""
    layer = full(SIZE, LENGTH, WIDTH), full(WIDTH, WIDTH), full(WIDTH)
    run.op("aten::linear", 5, kernel=400, **recorded(*layer))
    run.op("aten::mm", 5, kernel=400, **recorded(full(SIZE * LENGTH, WIDTH), full(WIDTH, WIDTH)))


def copies(
    run: SizedProgram, lengths: Sequence[int] = LENGTHS, first: int = 0, most: int = LENGTH
) -> None:
    """Sequences that are copied into rows of a batch, one after the other."""
    for i, length in enumerate(lengths):
        run.op("aten::select", 1, **recorded(full(SIZE, most, dtype=INDEX), "0", str(i)))
        cut = recorded(full(most, dtype=INDEX), "0", str(first), str(first + length), "1")
        run.op("aten::slice", 1, **cut)
        row = full(length, dtype=INDEX)
        run.op("aten::copy_", 1, **recorded(row, row, "False"))


def pad_sequence(run: SizedProgram) -> None:
    """The same inside of one operator, with the time first."""
    with run.around("aten::pad_sequence", 1):
        for i, length in enumerate(LENGTHS):
            whole = full(LENGTH, SIZE, dtype=INDEX)
            with run.around("aten::narrow", 1, **recorded(whole, "0", "0", str(length))):
                run.op("aten::slice", 1, **recorded(whole, "0", "0", str(length), "1"))
            rows = full(length, SIZE, dtype=INDEX)
            run.op("aten::select", 1, **recorded(rows, "1", str(i)))
            row = full(length, dtype=INDEX)
            run.op("aten::copy_", 1, **recorded(row, row, "False"))


def pads(run: SizedProgram) -> None:
    for length in LENGTHS:
        row = full(length, dtype=INDEX)
        run.op("aten::pad", 1, **recorded(row, f"[0, {LENGTH - length}]", "", ""))


def packed(run: SizedProgram) -> None:
    """A recurrent layer has the rows of all lengths; what is behind it has those of the batch."""
    batch = full(SIZE, LENGTH, WIDTH, dtype=FP32), full(SIZE, dtype=INDEX), "True"
    run.op("aten::_pack_padded_sequence", 1, **recorded(*batch))
    run.op("aten::lstm", 5, kernel=300, **recorded(full(sum(LENGTHS), WIDTH, dtype=FP32)))


@pytest.mark.parametrize("fills", [copies, pad_sequence, pads, packed])
def test_padding_is_a_share_of_the_work_on_all_places(fills: Body) -> None:
    (row,) = found(RULE, steps(fills).trace())
    assert row.saving_ns == pytest.approx(3 * 800_000 * PADDED, rel=0.02)


def widened(pads: str, size: int = SIZE, first: int = 0) -> Body:
    """A batch that is padded as a whole once more."""
    most = max(LENGTHS) // 2

    def body(run: SizedProgram) -> None:
        copies(run, [one // 2 for one in LENGTHS], first, most=most)
        run.op("aten::pad", 1, **recorded(full(size, most, dtype=INDEX), pads, "", ""))

    return body


def test_a_batch_is_padded_further_than_its_longest_sequence() -> None:
    (row,) = found(RULE, steps(widened("[0, 256]")).trace())
    assert row.saving_ns == pytest.approx(3 * 800_000 * (1 - (1 - PADDED) / 2), rel=0.02)
    assert "max_length" in row.fix


def test_a_pad_of_something_else_leaves_the_batch_as_it_was() -> None:
    """It is of another size, or it adds rows or nothing: no work is on places of the batch."""
    for body in (widened("[0, 256]", size=SIZE - 1), widened("[0, 256, 0, 1]"), widened("[0, -8]")):
        assert {one.length for one in padded_batches(steps(body).trace())} == {LENGTH // 2}
        assert found(RULE, steps(body).trace()) == []


def test_padding_to_the_longest_is_about_order() -> None:
    (row,) = found(RULE, steps(copies).trace())
    assert "similar length" in row.fix
    assert "max_length" not in row.fix


def test_longest_sequences_need_no_cut() -> None:
    (row,) = found(RULE, steps(lambda run: copies(run, LENGTHS[1:])).trace())
    assert row.saving_ns == pytest.approx(3 * 800_000 * PADDED, rel=0.02)


def masked(run: SizedProgram) -> None:
    """Places compared with lengths: how many are masked is no shape."""
    sides = full(1, LENGTH, dtype=INDEX), full(SIZE, 1, dtype=INDEX)
    run.op("aten::ge", 1, **recorded(*sides))


def test_a_mask_of_lengths_is_a_note() -> None:
    (row,) = found(RULE, steps(masked).trace())
    assert row.saving_ns is None
    assert row.confidence == "low"


def attends(*mask: int, queries: int = LENGTH, name: str = "") -> Body:
    """An attention with a mask, by one operator or by hand."""
    query, key = full(SIZE, 4, queries, 64), full(SIZE, 4, LENGTH, 64)
    scores = full(SIZE, 4, queries, LENGTH)

    def body(run: SizedProgram) -> None:
        given = [scores] if name else [query, key, key]
        name_or_one = name or "aten::scaled_dot_product_attention"
        run.op(name_or_one, 1, **recorded(*given, full(*mask, dtype="bool"), "0.", "False"))

    return body


@pytest.mark.parametrize("name", ["", "aten::masked_fill", "aten::add"])
def test_keys_that_are_masked_for_each_sequence_are_a_note(name: str) -> None:
    (row,) = found(RULE, steps(attends(SIZE, 1, 1, LENGTH, name=name)).trace())
    assert row.saving_ns is None
    assert row.confidence == "low"
    assert "longest sequence" in row.fix


def causal(run: SizedProgram) -> None:
    """Places of queries compared with those of keys, all of them or a part."""
    for queries in (LENGTH, 64):
        sides = full(queries, 1, dtype=INDEX), full(1, LENGTH, dtype=INDEX)
        run.op("aten::ge", 1, **recorded(*sides))
    scores = full(SIZE, LENGTH, LENGTH)
    run.op("aten::tril", 1, **recorded(full(LENGTH, LENGTH, dtype="bool"), "0"))
    run.op("aten::masked_fill", 1, **recorded(scores, full(LENGTH, LENGTH, dtype="bool"), "-inf"))


def equal(run: SizedProgram) -> None:
    copies(run, [LENGTH] * SIZE)


def cached(run: SizedProgram) -> None:
    """States that are written behind those of earlier rounds."""
    copies(run, [1] * SIZE, first=100)


def few(run: SizedProgram) -> None:
    """Less than half of the batch is filled so: what it is, is not known."""
    copies(run, LENGTHS[1:4])


def images(run: SizedProgram) -> None:
    """Pads of one size around pictures."""
    for _ in range(4):
        run.op("aten::pad", 1, **recorded(full(LENGTH, dtype=INDEX), "[0, 4]", "", ""))


@pytest.mark.parametrize(
    "body",
    [
        causal, equal, cached, few, images, attends(1, 1, 1, LENGTH), attends(LENGTH, LENGTH),
        attends(SIZE, 1, LENGTH, LENGTH), attends(SIZE, 1, 1, 1, name="aten::add"),
        attends(SIZE, 1, 1, LENGTH, name="aten::mul"),
    ],
)  # fmt: skip
def test_batches_without_padding(body: Body) -> None:
    assert found(RULE, steps(body).trace()) == []


def test_other_shapes_are_no_work_on_the_batch() -> None:
    assert found(RULE, steps(copies, works=False).trace()) == []


SHORT, LONG = range(64, 256, 24), range(256, 513, 32)


def batches(*lengths: Sequence[int], most: int = 0) -> Body:
    """Batches that are padded to their longest sequence, or to one length."""

    def body(run: SizedProgram) -> None:
        for one in lengths:
            length = most or max(one)
            copies(run, one[:SIZE], most=length)
            layer = full(SIZE, length, WIDTH), full(WIDTH, WIDTH), full(WIDTH)
            run.op("aten::linear", 5, kernel=length, **recorded(*layer))

    return body


def test_batches_in_order_of_length_have_no_padding_that_a_sort_removes() -> None:
    assert found(RULE, steps(batches(SHORT, LONG)).trace()) == []
    mixed = [*SHORT[::2], *LONG[::2]], [*SHORT[1::2], *LONG[1::2]]
    for body in (batches(*mixed), batches(SHORT, LONG, most=LENGTH), batches(SHORT)):
        assert len(found(RULE, steps(body).trace())) == 1


def cut_and_padded(run: SizedProgram) -> None:
    """Pads of less than 0 cut: each sequence is brought to one length."""
    for length in (100, 200, LENGTH, 2000):
        row = full(length, WIDTH, dtype=FP32)
        run.op("aten::pad", 1, **recorded(row, f"[0, 0, 0, {LENGTH - length}]", "", ""))


def cut_to_nothing(run: SizedProgram) -> None:
    for length in (100, 200):
        run.op("aten::pad", 1, **recorded(full(length, dtype=FP32), f"[0, {-length}]", "", ""))


def without_dimensions(run: SizedProgram) -> None:
    run.op("aten::pad", 1, **recorded(full(dtype=FP32), "[]", "", ""))
    run.op("aten::select", 1, **recorded(full(dtype=INDEX), "0", "0"))
    run.op("aten::slice", 1, **recorded(full(LENGTH, dtype=INDEX), "0", "0", "3", "1"))
    run.op("aten::copy_", 1, **recorded(full(3, dtype=INDEX), full(3, dtype=INDEX), "False"))


def test_what_is_cut_fills_its_place() -> None:
    first, *_ = padded_batches(steps(cut_and_padded).trace())
    assert first.lengths == (100, 200, LENGTH, LENGTH)
    assert first.filled == pytest.approx((100 + 200 + 2 * LENGTH) / (4 * LENGTH))


@pytest.mark.parametrize("body", [cut_to_nothing, without_dimensions])
def test_tensors_without_places_are_no_batches(body: Body) -> None:
    assert padded_batches(steps(body).trace()) == ()
