"""Operations of live programs equal ``torch.utils.flop_counter``'s, forward and backward.

Differences: the gradient by weight of a grouped convolution, which it multiplies by the number of
groups; causal attention, whose masked half it counts; matrix times vector, which it omits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional
from torch.utils import flop_counter

from tb_privateuse1.analysis.work import operator_work
from tests.support import live_work
from tests.support.repeats import repeats
from tests.unit.analysis.work.calls import flops, tensor

pytestmark = pytest.mark.long

SIZES = st.integers(1, 9)
PROGRAMS = settings(max_examples=repeats(12))


def product_flops(program: live_work.Program) -> int:
    """Return the operations of all products in the recorded program."""
    work = operator_work.operator_work(live_work.record(program))
    return int(work.flops[work.matrix].sum())


def agrees(program: live_work.Program) -> None:
    expected = live_work.counted_flops(program)
    assert expected > 0
    assert product_flops(program) == expected


def leaf(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, requires_grad=True)


@PROGRAMS
@given(n=SIZES, k=SIZES, m=SIZES, b=SIZES)
def test_products(n: int, k: int, m: int, b: int) -> None:
    def program() -> None:
        x, w, bias, batch = leaf(n, k), leaf(k, m), leaf(m), leaf(b, n, k)
        results = [
            x @ w,
            torch.addmm(bias, x, w),
            torch.bmm(batch, leaf(b, k, m)),
            torch.baddbmm(leaf(b, n, m), batch, leaf(b, k, m)),
            functional.linear(batch, leaf(m, k), bias),
            functional.linear(x, leaf(m, k)),
            torch.matmul(batch, w),
            torch.matmul(leaf(2, b, n, k), leaf(b, k, m)),
            torch.einsum("bnk,bkm->bnm", batch, leaf(b, k, m)),
            torch.einsum("bnk,bmk->nm", batch, leaf(b, m, k)),
            torch.tensordot(batch, w, dims=1),
        ]
        sum(one.sum() for one in results).backward()

    agrees(program)


@PROGRAMS
@given(data=st.data(), dims=st.integers(1, 3), transposed=st.booleans())
def test_convolutions(data: st.DataObject, dims: int, transposed: bool) -> None:
    batch, inner, outer = (data.draw(st.integers(1, 4)) for _ in range(3))
    kernel = [data.draw(st.integers(1, 3)) for _ in range(dims)]
    size = [data.draw(st.integers(6, 9)) for _ in range(dims)]
    stride, dilation, padding = (data.draw(st.integers(1, 2)) for _ in range(3))
    name = f"conv_transpose{dims}d" if transposed else f"conv{dims}d"
    sides = (inner, outer) if transposed else (outer, inner)
    bias = leaf(outer) if data.draw(st.booleans()) else None
    x = torch.randn(batch, inner, *size, requires_grad=data.draw(st.booleans()))
    weight = leaf(*sides, *kernel)

    def program() -> None:
        y = getattr(functional, name)(
            x, weight, bias, stride=stride, padding=padding - 1, dilation=dilation
        )
        y.sum().backward()

    agrees(program)


@PROGRAMS
@given(groups=st.integers(2, 4), size=st.integers(5, 9))
def test_a_grouped_convolution_costs_three_times_its_forward_pass(groups: int, size: int) -> None:
    x, weight = leaf(2, 2 * groups, size, size), leaf(groups, 2, 3, 3)

    def forward() -> torch.Tensor:
        return functional.conv2d(x, weight, groups=groups)

    with torch.no_grad():
        once = live_work.counted_flops(forward)
        assert product_flops(forward) == once
    whole = lambda: forward().sum().backward()  # noqa: E731
    assert product_flops(whole) == 3 * once
    assert live_work.counted_flops(whole) == (2 + groups) * once


@PROGRAMS
@given(heads=SIZES, queries=SIZES, keys=SIZES, size=SIZES)
def test_attention_of_separate_products(heads: int, queries: int, keys: int, size: int) -> None:
    def program() -> None:
        q, k, v = leaf(2, heads, queries, size), leaf(2, heads, keys, size), leaf(2, heads, keys, 3)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            functional.scaled_dot_product_attention(q, k, v).sum().backward()

    agrees(program)


def test_a_network_with_recurrence_and_attention() -> None:
    layers = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    recurrent = torch.nn.LSTMCell(16, 8)
    x = leaf(3, 5, 16)

    def program() -> None:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            recurrent(layers(x).sum(dim=1))[0].sum().backward()

    agrees(program)


def test_the_fused_attention_of_the_cpu_counts_as_the_separate_products() -> None:
    q, k, v = (leaf(2, 3, 8, 16) for _ in range(3))

    def program(backend: torch.nn.attention.SDPBackend) -> live_work.Program:
        def run() -> None:
            with torch.nn.attention.sdpa_kernel(backend):
                functional.scaled_dot_product_attention(q, k, v).sum().backward()

        return run

    kinds = torch.nn.attention.SDPBackend
    separate = live_work.counted_flops(program(kinds.MATH))
    fused = product_flops(program(kinds.FLASH_ATTENTION))
    assert fused == separate * 7 // 6  # the scores once more: seven products instead of six


HALF = "c10::BFloat16"


def heads_first(b: int, h: int, s: int, d: int) -> dict[str, Any]:
    return tensor(b, h, s, d, dtype=HALF)


@given(b=SIZES, h=SIZES, q=SIZES, k=SIZES, d=SIZES, e=SIZES)
def test_the_variants_of_attention_equal_the_counter_of_torch(
    b: int, h: int, q: int, k: int, d: int, e: int
) -> None:
    shapes = (b, h, q, d), (b, h, k, d), (b, h, k, e)
    tensors = [heads_first(*one) for one in shapes]
    forward = flop_counter.sdpa_flop_count(*shapes)
    grad = heads_first(b, h, q, e)
    backward = flop_counter.sdpa_backward_flop_count(grad["shape"], *shapes)
    name = "aten::_scaled_dot_product_"
    assert flops(f"{name}flash_attention", *tensors, 0.0, False, False, None) == forward
    assert flops(f"{name}efficient_attention", *tensors, None, True, 0.0, False) == forward
    assert flops(f"{name}cudnn_attention", *tensors, None, True, 0.0, False, False) == forward
    rest = (*[tensor(1)] * 4, 1, 1, 0.0, False)
    assert flops(f"{name}flash_attention_backward", grad, *tensors, *rest) == backward
    swapped = [tensor(s[0], s[2], s[1], s[3], dtype=HALF) for s in shapes]
    rest = (None, None, q, k, 0.0, False, False)
    assert flops("aten::_flash_attention_forward", *swapped, *rest) == forward


def test_no_work_counts_twice() -> None:
    x, w = torch.randn(4, 6), torch.randn(8, 6)
    trace = live_work.record(lambda: functional.linear(x, w))
    work = operator_work.operator_work(trace)
    rows = np.flatnonzero(work.flops > 0)
    assert len(rows) == 1
    assert work.flops[rows[0]] == 2 * 4 * 6 * 8
