"""Work of copies, casts, joins and fills: bytes only."""

from __future__ import annotations

from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, read_of, written_of


def copy(call: Arguments) -> Work:
    """Return the work of ``copy_(to, from, non_blocking)``; a cast is a copy."""
    to, source = call.tensor(0), call.tensor(1)
    return Work(0, read_of([source]), read_of([to]), dtype=to.dtype)


def copy_from(call: Arguments) -> Work:
    """Return the work of ``_copy_from(from, to, non_blocking)``."""
    source, to = call.tensor(0), call.tensor(1)
    return Work(0, read_of([source]), read_of([to]), dtype=to.dtype)


def same(call: Arguments) -> Work:
    """Return the work of an operator that writes the bytes that it reads: ``clone``, ``flip``, …"""
    x = call.tensor(0)
    return Work(0, read_of([x]), written_of((x.shape, x.dtype)), dtype=x.dtype)


def cast(call: Arguments) -> Work:
    """Return the work of ``_to_copy(x, dtype, …)``."""
    x = call.tensor(0)
    dtype = call.dtype(1, x.dtype)
    return Work(0, read_of([x]), written_of((x.shape, dtype)), dtype=dtype)


def join(call: Arguments) -> Work:
    """Return the work of ``cat([tensors], dim, out)``; torch records no types of tensors in lists.

    The result holds each element of the list once.
    """
    out = call.optional(2)
    if out is not None and out.numel:
        return Work(0, read_of([out]), read_of([out]), dtype=out.dtype)
    tensors = call.tensor_list(0)
    written = [(one.shape, one.dtype) for one in tensors]
    return Work(0, read_of(tensors), written_of(*written))


def fill(call: Arguments) -> Work:
    """Return the work of ``fill_(x, value)``, or of random numbers into x."""
    x = call.tensor(0)
    return Work(0, 0, read_of([x]), dtype=x.dtype)


def counted(call: Arguments) -> Work:
    """Return the work of ``arange(start, end, step, out)``."""
    out = call.tensor(3)
    start, end, step = (call.integer(at) for at in range(3))
    if not step or (end - start) * step < 0:
        raise UnknownWork
    return Work(0, 0, written_of(((-(-(end - start) // step),), out.dtype)), dtype=out.dtype)


def item(call: Arguments) -> Work:
    """Return the work of ``_local_scalar_dense(x)``."""
    x = call.tensor(0)
    return Work(0, read_of([x]), written_of(((), x.dtype)), dtype=x.dtype)


def padded(call: Arguments) -> Work:
    """Return the work of ``constant_pad_nd(x, pad, value)`` and of other borders."""
    x, pad = call.tensor(0), call.integers(1)
    if len(pad) % 2 or len(pad) // 2 > len(x.shape):
        raise UnknownWork
    out = list(x.shape)
    for pair in range(len(pad) // 2):
        out[-1 - pair] += pad[2 * pair] + pad[2 * pair + 1]
    if min(out, default=0) < 0:
        raise UnknownWork
    return Work(0, read_of([x]), written_of((out, x.dtype)), dtype=x.dtype)


def repeated(call: Arguments) -> Work:
    """Return the work of ``repeat(x, repeats)``."""
    x, repeats = call.tensor(0), call.integers(1)
    elements = x.numel
    for count in repeats:
        elements *= count
    if elements < 0:
        raise UnknownWork
    stored = Tensor(x.shape, x.dtype, x.stored)
    return Work(0, read_of([stored]), written_of(((elements,), x.dtype)), dtype=x.dtype)


MODELS: Mapping[str, Model] = {
    "copy": copy,
    "_copy_from": copy_from,
    "_copy_from_and_resize": copy_from,
    "_to_copy": cast,
    "clone": same,
    "contiguous": same,
    "flip": same,
    "roll": same,
    "tril": same,
    "triu": same,
    "rot90": same,
    "cat": join,
    "stack": join,
    "_local_scalar_dense": item,
    "constant_pad_nd": padded,
    "repeat": repeated,
    "fill": fill,
    "zero": fill,
    "normal": fill,
    "uniform": fill,
    "bernoulli": fill,
    "random": fill,
    "exponential": fill,
    "arange": counted,
}
