"""Bytes of FBGEMM's operators: quantized rows, permutations, jagged tensors."""

from __future__ import annotations

import pytest

from tests.unit.analysis.work.calls import flops, moved, tensor, work

BYTES = {"dtype": "unsigned char"}
LONG = {"dtype": "long"}


@pytest.mark.parametrize(
    ("name", "bits", "columns"),
    [
        ("FloatToFP8RowwiseQuantized", None, 256 + 8),
        ("FloatToFused8BitRowwiseQuantized", None, 256 + 8),
        ("FloatToFusedNBitRowwiseQuantizedSBHalf", 4, 128 + 4),
        ("FloatToHFP8Quantized", None, 256),
    ],
)
def test_quantized_rows_end_with_their_scale(name: str, bits: int | None, columns: int) -> None:
    assert moved(f"fbgemm::{name}", tensor(3, 256), bits) == (4 * 3 * 256, 3 * columns)


@pytest.mark.parametrize(
    ("name", "bits", "columns"),
    [
        ("FP8RowwiseQuantizedToFloat", None, 264),
        ("Fused8BitRowwiseQuantizedToFloat", None, 264),
        ("FusedNBitRowwiseQuantizedSBHalfToFloat", 4, 132),
        ("HFP8QuantizedToFloat", None, 256),
    ],
)
def test_restored_rows_are_float32(name: str, bits: int | None, columns: int) -> None:
    x = tensor(3, columns, **BYTES)
    assert moved(f"fbgemm::{name}", x, bits) == (3 * columns, 4 * 3 * 256)


def test_bfloat16_is_a_cast() -> None:
    assert moved("fbgemm::FloatToBfloat16Quantized", tensor(5, 2)) == (40, 20)
    half = tensor(5, 2, dtype="c10::BFloat16")
    assert moved("fbgemm::Bfloat16QuantizedToFloat", half) == (20, 40)


def test_a_permutation_moves_all_values() -> None:
    permute, lengths, values = tensor(6, dtype="int"), tensor(6, 8, dtype="int"), tensor(50, **LONG)
    name = "fbgemm::permute_2D_sparse_data"
    assert moved(name, permute, lengths, values, None, None) == (24 + 192 + 400, 192 + 400)
    weighted = moved(name, permute, lengths, values, tensor(50), None)
    assert weighted == (24 + 192 + 600, 192 + 600)


def test_repeated_features_need_the_sum_of_their_lengths() -> None:
    permute, lengths, values = tensor(9, dtype="int"), tensor(6, 8, dtype="int"), tensor(50, **LONG)
    name = "fbgemm::permute_2D_sparse_data"
    assert work(name, permute, lengths, values, None, None) is None
    assert moved(name, permute, lengths, values, None, 80) == (36 + 192 + 640, 9 * 8 * 4 + 640)


def test_permuted_embeddings_and_their_gradient() -> None:
    x = tensor(4, 100)
    assert moved("fbgemm::permute_pooled_embs_auto_grad", x, tensor(9, **LONG)) == (1672, 1600)
    node = "torch::autograd::CppNode<fbgemm_gpu::PermutePooledEmbsFunction<&fbgemm_gpu::f> >"
    assert moved(node, x) == (1600, 1600)


def test_bounds_are_read_and_nothing_is_written() -> None:
    inputs = tensor(10, **LONG), tensor(70, **LONG), tensor(81, **LONG)
    assert moved("fbgemm::bounds_check_indices", *inputs, 1) == (8 * 161, 0)
    assert flops("fbgemm::bounds_check_indices", *inputs, 1) == 140


def test_sums_of_lengths() -> None:
    x = tensor(7, dtype="int")
    assert moved("fbgemm::asynchronous_complete_cumsum", x) == (28, 32)
    assert moved("fbgemm::asynchronous_exclusive_cumsum", x) == (28, 28)
    assert moved("fbgemm::offsets_range", tensor(7, **LONG), 30) == (56, 240)
    assert work("fbgemm::asynchronous_complete_cumsum", tensor(7, 2)) is None


def test_jagged_and_padded() -> None:
    values, offsets = tensor(50, 4), tensor(9, **LONG)
    dense = work("fbgemm::jagged_to_padded_dense", values, [offsets], [6], 0.0)
    assert dense is not None
    assert (dense.read_bytes, dense.written_bytes) == (None, 4 * 8 * 6 * 4)  # lists have no type
    assert moved("fbgemm::jagged_2d_to_dense", values, offsets, 6) == (872, 4 * 8 * 6 * 4)
    assert moved("fbgemm::dense_to_jagged", tensor(8, 6, 4), [offsets], 50)[1] == 800
    assert work("fbgemm::jagged_2d_to_dense", tensor(2, 2, 2), offsets, 6) is None


def test_an_expanded_permutation() -> None:
    permute = tensor(5, dtype="int")
    inputs = permute, tensor(6, dtype="int"), tensor(6, dtype="int"), 40
    assert moved("fbgemm::expand_into_jagged_permute", *inputs) == (68, 160)
