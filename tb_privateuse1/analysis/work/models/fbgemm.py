"""Work of FBGEMM's operators on sparse features, jagged tensors and quantized rows.

Their results are documented at pytorch.org/FBGEMM. What depends on values that no recording has,
such as the rows that a permutation repeats, is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, known_sum, read_of, written_of


def _matrix(call: Arguments, *dtypes: str) -> tuple[Tensor, int, int]:
    """Return a tensor of rows, their number and their length; raises UnknownWork for others."""
    x = call.tensor(0)
    if not x.shape or x.dtype not in dtypes:
        raise UnknownWork
    return x, math.prod(x.shape[:-1]), x.shape[-1]


_FLOATS = ("float32", "float16", "bfloat16")


def _quantized(columns: Callable[[Arguments, int], int], flops: int) -> Model:
    """Return the model of an operator that makes rows of bytes of rows of numbers."""

    def work(call: Arguments) -> Work:
        x, rows, size = _matrix(call, *_FLOATS)
        written = written_of(((rows, columns(call, size)), "uint8"))
        return Work(flops * x.numel, read_of([x]), written, dtype=x.dtype)

    return work


def _restored(columns: Callable[[Arguments, int], int], dtype: str, flops: int) -> Model:
    """Return the model of an operator that makes rows of numbers of rows of bytes."""

    def work(call: Arguments) -> Work:
        x, rows, size = _matrix(call, "uint8", "int8")
        out = rows, columns(call, size)
        if out[1] < 0:
            raise UnknownWork
        return Work(flops * math.prod(out), read_of([x]), written_of((out, dtype)), dtype=x.dtype)

    return work


_SCALES = 8
"""A row's scale and bias, of 4 bytes each, follow its elements, which fill whole words."""


def _with_scales(_call: Arguments, size: int) -> int:
    return -(-size // 4) * 4 + _SCALES


def _without_scales(_call: Arguments, size: int) -> int:
    return size - _SCALES


def _same_size(_call: Arguments, size: int) -> int:
    return size


def _packed(call: Arguments, size: int) -> int:
    """Return the bytes of a row of 2, 4 or 8 bits with scale and bias of 2 bytes each."""
    return -(-size * call.integer(1) // 8) + 4


def _unpacked(call: Arguments, size: int) -> int:
    return (size - 4) * 8 // max(call.integer(1), 1)


def to_bfloat16(call: Arguments) -> Work:
    """Return the work of ``FloatToBfloat16Quantized(x)``."""
    x = call.tensor(0)
    return Work(0, read_of([x]), written_of((x.shape, "bfloat16")), dtype=x.dtype)


def from_bfloat16(call: Arguments) -> Work:
    """Return the work of ``Bfloat16QuantizedToFloat(x)``."""
    x = call.tensor(0)
    return Work(0, read_of([x]), written_of((x.shape, "float32")), dtype=x.dtype)


def permuted(call: Arguments) -> Work:
    """Return the work of ``permute_2D_sparse_data(permute, lengths, values, weights, sum)``.

    A permutation of all features moves all values; others need the sum of permuted lengths.
    """
    permute, lengths, values = call.tensor(0), call.tensor(1), call.tensor(2)
    if len(lengths.shape) > 2 or len(permute.shape) != 1:
        raise UnknownWork
    moved = values.numel
    if permute.numel != lengths.shape[0]:
        moved = call.integer(4)
    weights = call.optional(3)
    out = [((permute.numel, *lengths.shape[1:]), lengths.dtype), ((moved,), values.dtype)]
    chosen = [Tensor((moved,), values.dtype, moved)]
    if weights is not None:
        out.append(((moved,), weights.dtype))
        chosen.append(Tensor((moved,), weights.dtype, moved))
    read = known_sum(lambda: [permute.bytes, lengths.bytes, *(one.bytes for one in chosen)])
    return Work(0, read, written_of(*out), dtype=values.dtype)


def permuted_embeddings(call: Arguments) -> Work:
    """Return the work of ``permute_pooled_embs(x, offsets, permute, …)`` and of its gradient."""
    x = call.tensor(0)
    if len(x.shape) != 2:
        raise UnknownWork
    return Work(0, read_of(call.tensors()), written_of((x.shape, x.dtype)), dtype=x.dtype)


def checked_bounds(call: Arguments) -> Work:
    """Return the work of ``bounds_check_indices(rows, indices, offsets, …)``: two comparisons."""
    rows, indices, offsets = call.tensor(0), call.tensor(1), call.tensor(2)
    if {len(one.shape) for one in (rows, indices, offsets)} != {1}:
        raise UnknownWork
    flops = 2 * indices.numel
    return Work(flops, read_of([rows, indices, offsets]), 0, dtype=indices.dtype)


def _scan(more: int) -> Model:
    """Return the model of a cumulated sum with this number of further elements."""

    def work(call: Arguments) -> Work:
        x = call.tensor(0)
        if len(x.shape) != 1:
            raise UnknownWork
        written = written_of(((x.numel + more,), x.dtype))
        return Work(x.numel, read_of([x]), written, dtype=x.dtype)

    return work


def offsets_range(call: Arguments) -> Work:
    """Return the work of ``offsets_range(offsets, size)``."""
    offsets, size = call.tensor(0), call.integer(1)
    written = written_of(((size,), offsets.dtype))
    return Work(size, read_of([offsets]), written, dtype=offsets.dtype)


def _dense_work(values: Tensor, offsets: Sequence[Tensor], lengths: Sequence[int]) -> Work:
    if len(values.shape) not in (1, 2) or any(len(one.shape) != 1 for one in offsets):
        raise UnknownWork
    out = (offsets[0].numel - 1, *lengths, *values.shape[1:])
    read = read_of([values, *offsets])
    return Work(0, read, written_of((out, values.dtype)), dtype=values.dtype, at_most=True)


def padded(call: Arguments) -> Work:
    """Return the work of ``jagged_to_padded_dense(values, [offsets], max_lengths, value)``.

    What is longer than a length is left out, so not all values need to be read.
    """
    return _dense_work(call.tensor(0), call.tensor_list(1), call.integers(2))


def padded_rows(call: Arguments) -> Work:
    """Return the work of ``jagged_2d_to_dense(values, offsets, length)``."""
    return _dense_work(call.tensor(0), [call.tensor(1)], [call.integer(2)])


def packed_rows(call: Arguments) -> Work:
    """Return the work of ``dense_to_jagged(x, [offsets], total)``."""
    x, total = call.tensor(0), call.integer(2)
    if len(x.shape) < 2:
        raise UnknownWork
    size = total * x.shape[-1]
    moved = Tensor((size,), x.dtype, size)
    read = read_of([moved, *call.tensor_list(1)])
    return Work(0, read, read_of([moved]), dtype=x.dtype)


def expanded_permutation(call: Arguments) -> Work:
    """Return the work of ``expand_into_jagged_permute(permute, offsets, offsets, size)``."""
    permute, size = call.tensor(0), call.integer(3)
    written = written_of(((size,), permute.dtype))
    return Work(0, read_of(call.tensors(3)), written, dtype=permute.dtype)


MODELS: Mapping[str, Model] = {
    "FloatToFP8RowwiseQuantized": _quantized(_with_scales, 3),
    "FP8RowwiseQuantizedToFloat": _restored(_without_scales, "float32", 1),
    "FloatToFused8BitRowwiseQuantized": _quantized(_with_scales, 4),
    "Fused8BitRowwiseQuantizedToFloat": _restored(_without_scales, "float32", 2),
    "FloatToFusedNBitRowwiseQuantizedSBHalf": _quantized(_packed, 4),
    "FusedNBitRowwiseQuantizedSBHalfToFloat": _restored(_unpacked, "float32", 2),
    "FloatToHFP8Quantized": _quantized(_same_size, 1),
    "HFP8QuantizedToFloat": _restored(_same_size, "float32", 1),
    "FloatToBfloat16Quantized": to_bfloat16,
    "Bfloat16QuantizedToFloat": from_bfloat16,
    "permute_2D_sparse_data": permuted,
    "permute_1D_sparse_data": permuted,
    "permute_sparse_features": permuted,
    "permute_pooled_embs": permuted_embeddings,
    "permute_pooled_embs_auto_grad": permuted_embeddings,
    "PermutePooledEmbsFunction": permuted_embeddings,
    "bounds_check_indices": checked_bounds,
    "asynchronous_complete_cumsum": _scan(1),
    "asynchronous_inclusive_cumsum": _scan(0),
    "asynchronous_exclusive_cumsum": _scan(0),
    "offsets_range": offsets_range,
    "jagged_to_padded_dense": padded,
    "jagged_2d_to_dense": padded_rows,
    "dense_to_jagged": packed_rows,
    "expand_into_jagged_permute": expanded_permutation,
}
