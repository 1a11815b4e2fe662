"""Work of embeddings, gather, scatter and sort: bytes of the elements that indices choose."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork, size_of
from tb_privateuse1.analysis.work.call_work import (
    Model,
    Work,
    broadcast,
    known_sum,
    read_of,
    written_of,
)


def _chosen(indices: list[Tensor], out: tuple[int, ...], x: Tensor, flops: int = 0) -> Work:
    """Return the work of reading chosen elements into a result, each at most once.

    Elements that are chosen again may come from a cache.
    """
    read = known_sum(lambda: [*(one.bytes for one in indices), min(size_of(out, x.dtype), x.bytes)])
    return Work(flops, read, written_of((out, x.dtype)), dtype=x.dtype, at_most=True)


def _stored(
    indices: list[Tensor], source: Tensor, x: Tensor, *, in_place: bool, flops: int = 0
) -> Work:
    """Return the work of writing a source to chosen places, in x or in a copy of it."""
    read = read_of([*indices, source])
    written = written_of((source.shape, x.dtype))
    whole = read_of([x])
    if flops and written is not None and read is not None:
        read += written  # what is added to is read
    if not in_place and whole is not None and read is not None and written is not None:
        read, written = read + whole, written + written_of_all(x)
    return Work(flops, read, written, dtype=x.dtype, at_most=True)


def written_of_all(x: Tensor) -> int:
    """Return the bytes of a whole tensor."""
    return size_of(x.shape, x.dtype)


def embedding(call: Arguments) -> Work:
    """Return the work of ``embedding(weight, indices)``."""
    weight, indices = call.tensor(0), call.tensor(1)
    if len(weight.shape) != 2:
        raise UnknownWork
    return _chosen([indices], (*indices.shape, weight.shape[1]), weight)


def embedding_backward(call: Arguments) -> Work:
    """Return the work of ``embedding_dense_backward(grad, indices, rows, …)``."""
    grad, indices = call.tensor(0), call.tensor(1)
    out = (call.integer(2), grad.shape[-1] if grad.shape else 1)
    return Work(
        grad.numel, read_of([grad, indices]), written_of((out, grad.dtype)), dtype=grad.dtype
    )


def embedding_bag(call: Arguments) -> Work:
    """Return the work of ``_embedding_bag(weight, indices, offsets, …)``: rows are added up.

    The tables of indices that it also returns are small beside the rows, and left out.
    """
    weight, indices, offsets = call.tensor(0), call.tensor(1), call.tensor(2)
    if len(weight.shape) != 2 or len(indices.shape) != 1 or len(offsets.shape) != 1:
        raise UnknownWork
    bags = offsets.numel - (1 if call.value(7) == "True" else 0)
    chosen = _chosen([indices, offsets], (indices.numel, weight.shape[1]), weight)
    written = written_of(((max(bags, 0), weight.shape[1]), weight.dtype))
    flops = indices.numel * weight.shape[1]
    return Work(flops, chosen.read_bytes, written, dtype=weight.dtype, at_most=True)


def searched(boundaries: int, values: int) -> Model:
    """Return the model of a search for values between boundaries: a place each."""

    def work(call: Arguments) -> Work:
        x, edges = call.tensor(values), call.tensor(boundaries)
        steps = max(1, math.ceil(math.log2(max(max(edges.shape, default=1), 2))))
        dtype = "int32" if call.value(2) == "True" else "int64"
        written = written_of((x.shape, dtype))
        return Work(steps * x.numel, read_of([x, edges]), written, dtype=x.dtype)

    return work


def index_copy(call: Arguments) -> Work:
    """Return the work of ``index_copy(x, dim, indices, source)``."""
    x, indices, source = call.tensor(0), call.tensor(2), call.tensor(3)
    return _stored([indices], source, x, in_place=call.in_place)


def index_select(call: Arguments) -> Work:
    """Return the work of ``index_select(x, dim, indices)``."""
    x, indices = call.tensor(0), call.tensor(2)
    dim = call.integer(1)
    if not -len(x.shape) <= dim < len(x.shape):
        raise UnknownWork
    out = list(x.shape)
    out[dim] = indices.numel
    return _chosen([indices], tuple(out), x)


def gather(call: Arguments) -> Work:
    """Return the work of ``gather(x, dim, indices)``."""
    x, indices = call.tensor(0), call.tensor(2)
    return _chosen([indices], indices.shape, x)


def take(call: Arguments) -> Work:
    """Return the work of ``take(x, indices)``."""
    x, indices = call.tensor(0), call.tensor(1)
    return _chosen([indices], indices.shape, x)


def index(call: Arguments) -> Work:
    """Return the work of ``index(x, [indices])``; masks choose by their values: unknown."""
    x, found = call.tensor(0), call.tensor_list(1)
    if len(found) > len(x.shape):
        raise UnknownWork
    out = (*broadcast(one.shape for one in found), *x.shape[len(found) :])
    elements = sum(one.numel for one in found)
    read = known_sum(lambda: [8 * elements, min(size_of(out, x.dtype), x.bytes)])
    return Work(0, read, written_of((out, x.dtype)), dtype=x.dtype, at_most=True)


def index_put(call: Arguments) -> Work:
    """Return the work of ``_index_put_impl_(x, [indices], values, accumulate, …)``."""
    x, values = call.tensor(0), call.tensor(2)
    adds = values.numel if call.value(3) == "True" else 0
    return _stored([], values, x, in_place=True, flops=adds)


def index_add(call: Arguments) -> Work:
    """Return the work of ``index_add(x, dim, indices, source)``."""
    x, indices, source = call.tensor(0), call.tensor(2), call.tensor(3)
    return _stored([indices], source, x, in_place=call.in_place, flops=source.numel)


def scatter(call: Arguments) -> Work:
    """Return the work of ``scatter(x, dim, indices, source)``; the indices choose the places."""
    x, indices = call.tensor(0), call.tensor(2)
    source = call.optional(3)
    size = indices.numel
    placed = Tensor(indices.shape, x.dtype, size if source is not None else 0)
    adds = size if "add" in call.name or "reduce" in call.name else 0
    return _stored([indices], placed, x, in_place=call.in_place, flops=adds)


def sort(call: Arguments) -> Work:
    """Return the work of ``sort(x, …)``: values and indices; comparisons by n log n."""
    x = call.tensor(0)
    compared = x.numel * max(1, math.ceil(math.log2(max(max(x.shape, default=1), 2))))
    written = written_of((x.shape, x.dtype), (x.shape, "int64"))
    return Work(compared, read_of([x]), written, dtype=x.dtype)


def topk(call: Arguments) -> Work:
    """Return the work of ``topk(x, k, dim, …)``."""
    x, count = call.tensor(0), call.integer(1)
    dim = call.integer(2) if call.value(2) else -1
    if not -len(x.shape) <= dim < len(x.shape) or count < 0:
        raise UnknownWork
    out = list(x.shape)
    out[dim] = count
    written = written_of((out, x.dtype), (out, "int64"))
    return Work(x.numel, read_of([x]), written, dtype=x.dtype)


MODELS: Mapping[str, Model] = {
    "embedding": embedding,
    "embedding_dense_backward": embedding_backward,
    "_embedding_bag": embedding_bag,
    "_embedding_bag_forward_only": embedding_bag,
    "bucketize": searched(1, 0),
    "searchsorted": searched(0, 1),
    "index_copy": index_copy,
    "index_select": index_select,
    "gather": gather,
    "take": take,
    "index": index,
    "_unsafe_index": index,
    "index_put": index_put,
    "_index_put_impl": index_put,
    "index_add": index_add,
    "scatter": scatter,
    "scatter_add": scatter,
    "scatter_reduce": scatter,
    "sort": sort,
    "topk": topk,
}
"""``nonzero``, ``masked_select`` and ``unique`` write what the values decide: unknown."""
