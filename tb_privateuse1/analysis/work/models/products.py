"""Work of matrix products: FLOPs as ``torch.utils.flop_counter`` counts, and bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, broadcast, read_of, written_of


def _product(
    call: Arguments, a: Tensor, b: Tensor, out: Sequence[int], inner: int, dtype: str = ""
) -> Work:
    """Return the work of a product whose result has a shape; all of its inputs are read."""
    elements = 1
    for size in out:
        elements *= size
    others = [t for t in (call.optional(0), call.optional(1), call.optional(2)) if t is not None]
    extra = [t for t in others if t is not a and t is not b and t.shape != tuple(out)]
    return Work(
        2 * elements * inner,
        read_of([a, b, *extra]),
        written_of((out, dtype or a.dtype)),
        matrix=True,
        dtype=a.dtype,
    )


def _sizes(tensor: Tensor, dims: int) -> tuple[int, ...]:
    if len(tensor.shape) != dims:
        raise UnknownWork
    return tensor.shape


def _checked(a: int, b: int) -> int:
    if a != b:
        raise UnknownWork
    return a


def _plain(call: Arguments, first: int, dtype: str = "", *, bias: bool = False) -> Work:
    """Return the work of (n, k) times (k, m), from two positions on."""
    a, b = call.tensor(first), call.tensor(first + 1)
    (n, k), (other, m) = _sizes(a, 2), _sizes(b, 2)
    inner = _checked(k, other)
    read = [a, b, *([call.tensor(0)] if bias else [])]
    written = written_of(((n, m), dtype or a.dtype))
    return Work(2 * n * m * inner, read_of(read), written, matrix=True, dtype=a.dtype)


def mm(call: Arguments) -> Work:
    """Return the work of ``mm(a, b)``."""
    return _plain(call, 0)


def addmm(call: Arguments) -> Work:
    """Return the work of ``addmm(bias, a, b)``; the bias costs no operation of its own."""
    return _plain(call, 1, bias=True)


def int_mm(call: Arguments) -> Work:
    """Return the work of ``_int_mm(a, b)``, whose result is int32."""
    return _plain(call, 0, "int32")


def scaled_mm(call: Arguments) -> Work:
    """Return the work of ``_scaled_mm(a, b, scale_a, scale_b, bias, scale_result, out_dtype)``."""
    one = _plain(call, 0, call.dtype(6, call.tensor(0).dtype))
    return Work(one.flops, read_of(call.tensors(6)), one.written_bytes, True, one.dtype)


def scaled_mm_by_lists(call: Arguments) -> Work:
    """Return the work of ``_scaled_mm_v2(a, b, [scale_a], …, [scale_b], …, bias, out_dtype)``."""
    one = _plain(call, 0, call.dtype(9, call.tensor(0).dtype))
    return Work(one.flops, one.read_bytes, one.written_bytes, True, one.dtype)


def scaled_mm_into(call: Arguments) -> Work:
    """Return the work of vLLM's ``cutlass_scaled_mm(out, a, b, scale_a, scale_b, …)``."""
    out, one = call.tensor(0), _plain(call, 1)
    if out.shape != (call.tensor(1).shape[0], call.tensor(2).shape[1]):
        raise UnknownWork
    return Work(one.flops, read_of(list(call.tensors())[1:]), read_of([out]), True, one.dtype)


def scaled_mm_of_engine(call: Arguments) -> Work:
    """Return the work of SGLang's ``fp8_scaled_mm(a, b, scale_a, scale_b, out_dtype, bias)``."""
    one = _plain(call, 0, call.dtype(4, ""))
    return Work(one.flops, read_of(call.tensors()), one.written_bytes, True, one.dtype)


def _batched(call: Arguments, first: int, *, bias: bool = False) -> Work:
    a, b = call.tensor(first), call.tensor(first + 1)
    (g, n, k), (groups, other, m) = _sizes(a, 3), _sizes(b, 3)
    g, k = _checked(g, groups), _checked(k, other)
    read = [a, b, *([call.tensor(0)] if bias else [])]
    written = written_of(((g, n, m), a.dtype))
    return Work(2 * g * n * m * k, read_of(read), written, matrix=True, dtype=a.dtype)


def bmm(call: Arguments) -> Work:
    """Return the work of ``bmm(a, b)``."""
    return _batched(call, 0)


def baddbmm(call: Arguments) -> Work:
    """Return the work of ``baddbmm(bias, a, b)``."""
    return _batched(call, 1, bias=True)


def linear(call: Arguments) -> Work:
    """Return the work of ``linear(x, weight, bias)`` with a weight of (out, in)."""
    x, weight, bias = call.tensor(0), call.tensor(1), call.optional(2)
    out, inner = _sizes(weight, 2)
    if not x.shape:
        raise UnknownWork
    _checked(x.shape[-1], inner)
    read = [x, weight, *([bias] if bias is not None else [])]
    return Work(
        2 * x.numel * out,
        read_of(read),
        written_of(((*x.shape[:-1], out), x.dtype)),
        matrix=True,
        dtype=x.dtype,
    )


def matmul(call: Arguments) -> Work:
    """Return the work of ``matmul(a, b)`` where a device does it itself."""
    a, b = call.tensor(0), call.tensor(1)
    if not a.shape or not b.shape:
        raise UnknownWork
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    inner = _checked(left[-1], right[-2])
    batch = broadcast((left[:-2], right[:-2]))
    return _product(call, a, b, (*batch, left[-2], right[-1]), inner)


def mv(call: Arguments) -> Work:
    """Return the work of ``mv(a, x)``."""
    a, x = call.tensor(0), call.tensor(1)
    n, k = _sizes(a, 2)
    _checked(k, _sizes(x, 1)[0])
    return Work(2 * n * k, read_of([a, x]), written_of(((n,), a.dtype)), True, a.dtype)


def addmv(call: Arguments) -> Work:
    """Return the work of ``addmv(bias, a, x)``."""
    a, x = call.tensor(1), call.tensor(2)
    n, k = _sizes(a, 2)
    _checked(k, _sizes(x, 1)[0])
    return Work(2 * n * k, read_of(call.tensors(3)), written_of(((n,), a.dtype)), True, a.dtype)


def dot(call: Arguments) -> Work:
    """Return the work of ``dot(x, y)``."""
    x, y = call.tensor(0), call.tensor(1)
    k = _checked(_sizes(x, 1)[0], _sizes(y, 1)[0])
    return Work(2 * k, read_of([x, y]), written_of(((), x.dtype)), False, x.dtype)


def addbmm(call: Arguments) -> Work:
    """Return the work of ``addbmm(bias, a, b)``, which sums the products of a batch."""
    one = _batched(call, 1)
    a, b = call.tensor(1), call.tensor(2)
    out = (a.shape[1], b.shape[2])
    return Work(one.flops, read_of(call.tensors(3)), written_of((out, a.dtype)), True, a.dtype)


def _grouped(call: Arguments, offsets: int, dtype: str) -> Work:
    """Return the work of grouped products; offsets split the rows or columns of a 2-D operand.

    The sum over the groups does not depend on where they are split.
    """
    a, b = call.tensor(0), call.tensor(1)
    if len(a.shape) == 2 and len(b.shape) == 3:
        (rows, k), (_, other, m) = a.shape, b.shape
        out: tuple[int, ...] = (rows, m)
        flops = 2 * rows * _checked(k, other) * m
    elif len(a.shape) == 3 and len(b.shape) == 3:
        (g, n, k), (groups, other, m) = a.shape, b.shape
        out = (_checked(g, groups), n, m)
        flops = 2 * g * n * m * _checked(k, other)
    elif len(a.shape) == 3 and len(b.shape) == 2:
        (_, n, k), (other, columns) = a.shape, b.shape
        out = (n, columns)
        flops = 2 * n * columns * _checked(k, other)
    else:
        (n, k), (other, m) = _sizes(a, 2), _sizes(b, 2)
        out = (*_sizes(call.tensor(offsets), 1), n, m)
        flops = 2 * n * m * _checked(k, other)
    return Work(flops, read_of(call.tensors(offsets + 2)), written_of((out, dtype)), True, a.dtype)


def grouped_mm(call: Arguments) -> Work:
    """Return the work of ``_grouped_mm(a, b, offs, bias, out_dtype)``."""
    return _grouped(call, 2, call.dtype(4, call.tensor(0).dtype))


def scaled_grouped_mm(call: Arguments) -> Work:
    """Return the work of ``_scaled_grouped_mm(a, b, scale_a, scale_b, offs, …, out_dtype)``."""
    return _grouped(call, 4, call.dtype(7, "bfloat16"))


def scaled_grouped_mm_by_lists(call: Arguments) -> Work:
    """Return the work of ``_scaled_grouped_mm_v2(a, b, [scale_a], …, offs, bias, out_dtype)``."""
    return _grouped(call, 8, call.dtype(10, "bfloat16"))


def int4_mm(call: Arguments) -> Work:
    """Return the work of ``_weight_int4pack_mm(x, packed, …)``: 8 columns per packed row."""
    x, packed = call.tensor(0), call.tensor(1)
    (n, k), m = _sizes(x, 2), _sizes(packed, 4)[0] * 8
    return Work(
        2 * n * k * m, read_of(call.tensors(4)), written_of(((n, m), x.dtype)), True, x.dtype
    )


def int8_mm(call: Arguments) -> Work:
    """Return the work of ``_weight_int8pack_mm(x, weight, scales)`` with a weight of (out, in)."""
    return linear(call)


MODELS: Mapping[str, Model] = {
    "mm": mm,
    "addmm": addmm,
    "_addmm_activation": addmm,
    "bmm": bmm,
    "baddbmm": baddbmm,
    "addbmm": addbmm,
    "linear": linear,
    "_linear": linear,
    "_linear_pointwise": linear,
    "matmul": matmul,
    "mv": mv,
    "addmv": addmv,
    "dot": dot,
    "vdot": dot,
    "_int_mm": int_mm,
    "_scaled_mm": scaled_mm,
    "_scaled_mm_v2": scaled_mm_by_lists,
    "cutlass_scaled_mm": scaled_mm_into,
    "fp8_scaled_mm": scaled_mm_of_engine,
    "int8_scaled_mm": scaled_mm_of_engine,
    "_grouped_mm": grouped_mm,
    "_scaled_grouped_mm": scaled_grouped_mm,
    "_scaled_grouped_mm_v2": scaled_grouped_mm_by_lists,
    "_weight_int4pack_mm": int4_mm,
    "_weight_int8pack_mm": int8_mm,
}
"""Einsum, tensordot and the like are no leaves: they call ``bmm`` or ``mm``."""
