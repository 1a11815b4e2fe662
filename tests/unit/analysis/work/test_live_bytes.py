"""Bytes of live calls equal a count of all tensors that go in and come out."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.support import live_work

pytestmark = pytest.mark.long

A = torch.ops.aten
X, Y, V = torch.randn(6, 5), torch.randn(6, 5), torch.randn(5)
HALF = torch.randn(6, 5).bfloat16()
BATCH = torch.randn(2, 6, 5)
WHOLE = torch.arange(30).reshape(6, 5)
IMAGE, FILTER = torch.randn(2, 4, 8, 8), torch.randn(6, 4, 3, 3)
MASK = X > 0
COMPLEX = torch.randn(6, 5, dtype=torch.complex64)
EXPANDED = torch.randn(1, 5).expand(6, 5)
CHANNELS = torch.rand(4)

PURE: dict[str, tuple[Any, ...]] = {
    "mm": (X, torch.randn(5, 7)),
    "addmm": (torch.randn(7), X, torch.randn(5, 7)),
    "bmm": (BATCH, torch.randn(2, 5, 3)),
    "baddbmm": (torch.randn(2, 6, 3), BATCH, torch.randn(2, 5, 3)),
    "addbmm": (torch.randn(6, 3), BATCH, torch.randn(2, 5, 3)),
    "mv": (X, V),
    "addmv": (torch.randn(6), X, V),
    "dot": (V, V),
    "convolution": (IMAGE, FILTER, torch.randn(6), [2], [1], [1], False, [0], 1),
    "_softmax": (X, -1, False),
    "_log_softmax": (X, -1, False),
    "_softmax_backward_data": (X, Y, -1, torch.float32),
    "native_layer_norm": (BATCH, [5], V, V, 1e-5),
    "native_batch_norm": (IMAGE, CHANNELS, CHANNELS, CHANNELS, CHANNELS, True, 0.1, 1e-5),
    "native_group_norm": (IMAGE, CHANNELS, CHANNELS, 2, 4, 64, 2, 1e-5),
    "add": (X, Y),
    "mul": (X, V),
    "div": (X, HALF),
    "sub": (X, torch.tensor(2.0)),
    "exp": (X,),
    "gelu": (X,),
    "sigmoid": (EXPANDED,),
    "threshold_backward": (X, Y, 0.0),
    "addcmul": (X, Y, Y),
    "lerp": (X, Y, X),
    "where": (MASK, X, Y),
    "masked_fill": (X, MASK, 1.0),
    "eq": (X, Y),
    "logical_not": (X,),
    "native_dropout": (X, 0.5, True),
    "glu": (torch.randn(6, 4), -1),
    "sum": (X, [1]),
    "mean": (BATCH, [0, -1], True),
    "amax": (X, [0]),
    "argmax": (X, 1),
    "any": (MASK, 1),
    "cumsum": (WHOLE, 0),
    "var_mean": (X, [1]),
    "linalg_vector_norm": (X, 2, [1]),
    "max_pool2d_with_indices": (IMAGE, [3, 3], [2, 2], [1, 1], [1, 1], True),
    "avg_pool2d": (IMAGE, [2, 2], [2, 2]),
    "_adaptive_avg_pool2d": (IMAGE, [2, 2]),
    "upsample_nearest2d": (IMAGE, [16, 16]),
    "upsample_bilinear2d": (IMAGE, [16, 16], False),
    "sort": (X,),
    "topk": (X, 3, 1),
    "clone": (X,),
    "flip": (X, [0]),
    "tril": (X,),
    "constant_pad_nd": (X, [1, 2, 0, 3], 0.0),
    "mse_loss": (X, Y, 0),
    "mse_loss_backward": (X, X, Y, 0),
    "smooth_l1_loss": (X, Y, 0, 1.0),
    "binary_cross_entropy_with_logits": (X, Y, None, None, 0),
    "logit_backward": (CHANNELS, CHANNELS),
    "bucketize": (X, V),
    "_fft_r2c": (X, [1], 0, True),
    "_fft_c2c": (COMPLEX, [0, 1], 0, True),
    "_fft_c2r": (COMPLEX, [1], 2, 8),
    "im2col": (IMAGE, [3, 3], [1, 1], [1, 1], [2, 2]),
    "col2im": (torch.randn(2, 36, 16), [8, 8], [3, 3], [1, 1], [1, 1], [2, 2]),
    "pixel_shuffle": (IMAGE, 2),
    "pixel_unshuffle": (IMAGE, 2),
    "reflection_pad2d": (IMAGE, [1, 2, 0, 3]),
    "replication_pad1d": (BATCH, [1, 2]),
    "searchsorted": (V, X),
    "upsample_nearest2d_backward": (torch.randn(2, 4, 16, 16), [16, 16], [2, 4, 8, 8]),
    "upsample_bilinear2d_backward": (torch.randn(2, 4, 16, 16), [16, 16], [2, 4, 8, 8], False),
}
"""Calls that read all that they are given and write all that they return."""


@pytest.mark.parametrize("name", PURE)
def test_a_call_reads_its_inputs_and_writes_its_results(name: str) -> None:
    arguments = PURE[name]
    results: list[Any] = []
    trace = live_work.record(lambda: results.append(getattr(A, name)(*arguments)))
    work = live_work.call_work(trace, f"aten::{name}")
    assert work is not None
    assert work.read_bytes == live_work.tensor_bytes(arguments)
    assert work.written_bytes == live_work.tensor_bytes(results)


ITEM = 4
INDICES = torch.tensor([1, 4, 4])
GATHERED = torch.zeros(3, 5, dtype=torch.long)
CHOSEN: dict[str, tuple[tuple[Any, ...], int, int]] = {
    "index_select": ((X, 0, INDICES), 3 * 8 + 15 * ITEM, 15 * ITEM),
    "embedding": ((X, INDICES), 3 * 8 + 15 * ITEM, 15 * ITEM),
    "gather": ((X, 0, GATHERED), 15 * 8 + 15 * ITEM, 15 * ITEM),
    "index_copy_": ((X.clone(), 0, INDICES, Y[:3]), 3 * 8 + 15 * ITEM, 15 * ITEM),
    "_embedding_bag": ((X, INDICES, torch.tensor([0, 2])), 3 * 8 + 16 + 15 * ITEM, 10 * ITEM),
    "reflection_pad2d_backward": ((torch.randn(2, 4, 9, 9), IMAGE, [1, 0, 0, 1]), 2592, 2048),
    "take": ((X, INDICES), 3 * 8 + 3 * ITEM, 3 * ITEM),
    "embedding_dense_backward": ((Y[:3], INDICES, 6, -1, False), 3 * 8 + 15 * ITEM, 30 * ITEM),
    "scatter_add_": ((X.clone(), 0, GATHERED, Y), 15 * 8 + 2 * 15 * ITEM, 15 * ITEM),
    "scatter_add": ((X, 0, GATHERED, Y), 15 * 8 + 45 * ITEM + 15 * ITEM, 45 * ITEM),
    "index_add_": ((X.clone(), 0, INDICES, Y[:3]), 3 * 8 + 30 * ITEM, 15 * ITEM),
    "copy_": ((X.clone(), HALF), 60, 120),
    "fill_": ((X.clone(), 1.0), 0, 120),
    "zero_": ((X.clone(),), 0, 120),
    "add_": ((X.clone(), V), 140, 120),
    "_to_copy": ((X,), 120, 120),
    "nll_loss_forward": ((X, torch.zeros(6, dtype=torch.long), None, 1, -100), 6 * 12, 8),
    "nll_loss_backward": (
        (torch.tensor(1.0), X, torch.zeros(6, dtype=torch.long), None, 1, -100, torch.tensor(6.0)),
        4 + 48,
        120,
    ),
}
"""Calls that read a part of what they are given, or write into it: read and written bytes."""


@pytest.mark.parametrize("name", CHOSEN)
def test_a_call_that_chooses_or_works_in_place(name: str) -> None:
    arguments, read, written = CHOSEN[name]
    trace = live_work.record(lambda: getattr(A, name)(*arguments))
    work = live_work.call_work(trace, f"aten::{name}")
    assert work is not None
    assert (work.read_bytes, work.written_bytes) == (read, written)


def test_a_join_has_no_bytes_because_torch_records_no_types_in_lists() -> None:
    trace = live_work.record(lambda: torch.cat([X, Y]))
    work = live_work.call_work(trace, "aten::cat")
    assert work is not None
    assert (work.flops, work.read_bytes, work.written_bytes) == (0, None, None)


def test_a_fused_optimizer_knows_its_operations() -> None:
    parameters = [torch.randn(3, 4, requires_grad=True), torch.randn(5, requires_grad=True)]
    for one in parameters:
        one.grad = torch.randn_like(one)
    optimizer = torch.optim.AdamW(parameters, fused=True)
    work = live_work.call_work(live_work.record(optimizer.step), "aten::_fused_adamw_")
    assert work is not None
    assert work.flops == 14 * 17
    assert work.read_bytes is None
