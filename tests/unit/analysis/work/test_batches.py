"""Samples and tokens of steps, by the shapes of the first operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tb_privateuse1.analysis.work.batches import Batches, batches
from tests.support import make
from tests.support.make import Event
from tests.unit.analysis.work.calls import tensor, texts

IMAGES = ("aten::conv2d", tensor(8, 3, 32, 32), tensor(16, 3, 3, 3))
ROWS = ("aten::linear", tensor(32, 64), tensor(10, 64))
INDICES = ("aten::embedding", tensor(1000, 64), tensor(4, 16, dtype="long int"))
VECTORS = ("aten::linear", tensor(4, 16, 64), tensor(64, 64))
ATTENTION = ("aten::scaled_dot_product_attention", *[tensor(4, 2, 16, 32)] * 3)


def count(*steps: list[Any], marked: bool = True) -> Batches:
    """Return the batches of steps; ``backward`` and ``step`` stand for passes and the optimizer."""
    events: list[Event] = []
    at = 0.0
    for number, calls in enumerate(steps, 1):
        begin, forward = at, 0
        for call in calls:
            at += 10
            if call == "backward":
                forward += 1
                name = "autograd::engine::evaluate_function: MmBackward0"
                link = {"Sequence number": 100 * number + forward - 1, "Fwd thread id": 1}
                events.append(make.op(name, at, at + 5, thread=2, **link))
            elif call == "step":
                events.append(make.annotation("Optimizer.step#SGD.step", at, at + 5))
            else:
                link = {"Sequence number": 100 * number + forward, "Fwd thread id": 0}
                events.append(make.op(call[0], at, at + 5, **texts(*call), **link))
        at += 10
        if marked:
            events.append(make.step(number, begin, at))
    t = make.trace(*events)
    return batches(t, np.arange(len(t.steps)))


def test_images_of_the_first_convolution() -> None:
    found = count([IMAGES, ROWS], [IMAGES, ROWS])
    assert (found.samples, found.samples_missing) == (16, None)
    assert found.tokens is None
    assert "embedding" in (found.tokens_missing or "")


def test_a_convolution_without_a_batch_is_of_one_image() -> None:
    assert count([("aten::conv2d", tensor(3, 32, 32), tensor(16, 3, 3, 3))]).samples == 1


def test_rows_of_a_product_are_samples_without_attention() -> None:
    assert count([ROWS]).samples == 32
    found = count([ROWS, ATTENTION])
    assert found.samples is None
    assert "tokens" in (found.samples_missing or "")


def test_tokens_are_indices_of_the_largest_embedding() -> None:
    positions = ("aten::embedding", tensor(512, 64), tensor(1, 16, dtype="long int"))
    found = count([positions, INDICES, VECTORS, ATTENTION])
    assert (found.tokens, found.samples) == (64, 4)
    flat = ("aten::addmm", tensor(64), tensor(64, 64), tensor(64, 128))
    assert count([INDICES, flat]).tokens == 64


def test_an_embedding_whose_vectors_no_product_multiplies_has_no_tokens() -> None:
    found = count([INDICES, ("aten::linear", tensor(4, 1024), tensor(10, 1024))])
    assert found.tokens is None
    assert found.samples == 4, "the rows of the first product are certain"


def test_attention_shows_which_dimension_is_the_batch() -> None:
    turned = ("aten::embedding", tensor(1000, 64), tensor(16, 4, dtype="long int"))
    vectors = ("aten::linear", tensor(16, 4, 64), tensor(64, 64))
    assert count([turned, vectors, ATTENTION]).samples == 4
    chain = ("aten::bmm", tensor(8, 16, 32), tensor(8, 32, 16))
    assert count([turned, vectors, chain]).samples == 4
    found = count([turned, vectors])
    assert (found.samples, found.tokens) == (None, 64)
    assert "attention" in (found.samples_missing or "")


def test_indices_of_one_dimension_are_tokens_only_beside_attention() -> None:
    packed = ("aten::embedding", tensor(1000, 64), tensor(24, dtype="long int"))
    rows = ("aten::linear", tensor(24, 64), tensor(64, 64))
    assert count([packed, rows]).tokens is None
    found = count([packed, rows, ATTENTION])
    assert (found.tokens, found.samples) == (24, None)


def test_forward_passes_of_accumulation_add_up() -> None:
    found = count([IMAGES, "backward", IMAGES, "backward", "step"])
    assert found.samples == 16
    found = count([INDICES, VECTORS, ATTENTION, "backward"] * 2)
    assert (found.samples, found.tokens) == (8, 128)


def test_several_networks_have_no_common_batch() -> None:
    found = count([IMAGES, "backward", "step", IMAGES, "backward", "step"])
    assert "optimizer" in (found.samples_missing or "")
    found = count([IMAGES, "backward", ROWS, "backward"])
    assert "different operators" in (found.samples_missing or "")


def test_generated_tokens_count_and_their_sequences_do_not() -> None:
    new = ("aten::embedding", tensor(1000, 64), tensor(4, 1, dtype="long int"))
    one = ("aten::linear", tensor(4, 1, 64), tensor(64, 64))
    found = count([INDICES, VECTORS, ATTENTION, new, one, new, one])
    assert (found.tokens, found.samples) == (64 + 4 + 4, None)


def test_batches_may_differ_between_steps() -> None:
    last = ("aten::conv2d", tensor(5, 3, 32, 32), tensor(16, 3, 3, 3))
    assert count([IMAGES], [last]).samples == 13
    assert count([IMAGES], [("aten::relu", tensor(8, 16))]).samples is None


@pytest.mark.parametrize(("calls", "samples"), [([ROWS], 32), ([ROWS, ROWS], None)])
def test_without_marked_steps_the_first_product_must_not_repeat(
    calls: list[Any], samples: int | None
) -> None:
    assert count(calls, marked=False).samples == samples


@pytest.mark.parametrize(("at", "samples"), [(1.0, None), (40.0, 32)])
def test_a_replay_before_the_first_product_may_hide_another(at: float, samples: int | None) -> None:
    product = make.op("aten::linear", 20, 30, **texts(*ROWS))
    launched = [make.launch(at, at + 1, 5), make.kernel("gemm", 50, 60, 5)]
    t = make.trace(make.step(1, 0, 70), product, *launched)
    found = batches(t, np.arange(1))
    assert found.samples == samples
    assert ("replay" in (found.samples_missing or "")) == (samples is None)


def test_passes_without_a_judged_step_count_nothing() -> None:
    link = {"Sequence number": 1, "Fwd thread id": 1}
    back = make.op("autograd::engine::evaluate_function: MmBackward0", 10, 10, thread=2, **link)
    forward = make.op(ROWS[0], 10, 10, **texts(*ROWS), **{**link, "Fwd thread id": 0})
    trace = make.trace(make.step(1, 10, 10), forward, back, make.step(2, 10, 10))
    found = batches(trace, np.arange(0))
    assert (found.samples, found.tokens) == (None, None)
