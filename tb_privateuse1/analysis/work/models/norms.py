"""Work of normalizations: sums of values and of squares, then scale and shift per element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, accumulated, read_of, written_of

FORWARD, BACKWARD, ROOT_MEAN_SQUARE = 7, 11, 5
"""Operations per element: sum, square, sum, subtract, scale, weight, bias; backward those of the
normalized value again and of two sums; without a mean two fewer."""


def _rows(x: Tensor, normalized: int) -> tuple[int, ...]:
    return x.shape[: len(x.shape) - normalized]


def layer_norm(call: Arguments) -> Work:
    """Return the work of ``native_layer_norm(x, shape, weight, bias, eps)``."""
    x = call.tensor(0)
    weights = [one for one in (call.optional(2), call.optional(3)) if one is not None]
    dims = len(weights[0].shape) if weights else len(call.integers(1))
    statistics = (_rows(x, dims), accumulated(x.dtype))
    written = written_of((x.shape, x.dtype), statistics, statistics)
    return Work(FORWARD * x.numel, read_of([x, *weights]), written, dtype=x.dtype)


def layer_norm_backward(call: Arguments) -> Work:
    """Return the work of ``native_layer_norm_backward(grad, x, shape, mean, rstd, weight, bias,
    mask)``.
    """
    x, weights = call.tensor(1), [call.optional(5), call.optional(6)]
    outputs = [x, *(one for one in weights if one is not None)]
    read = read_of(one for one in call.tensors(6))
    return _backward(x, read, [(one.shape, one.dtype) for one in outputs])


def _backward(x: Tensor, read: int | None, outputs: list[tuple[Sequence[int], str]]) -> Work:
    return Work(BACKWARD * x.numel, read, written_of(*outputs), dtype=x.dtype)


def rms_norm(call: Arguments) -> Work:
    """Return the work of ``_fused_rms_norm(x, shape, weight, eps)``."""
    x, weight = call.tensor(0), call.optional(2)
    dims = len(weight.shape) if weight is not None else len(call.integers(1))
    written = written_of((x.shape, x.dtype), (_rows(x, dims), accumulated(x.dtype)))
    return Work(ROOT_MEAN_SQUARE * x.numel, read_of(call.tensors(3)), written, dtype=x.dtype)


def rms_norm_backward(call: Arguments) -> Work:
    """Return the work of ``_fused_rms_norm_backward(grad, x, shape, rstd, weight, mask)``."""
    x, weight = call.tensor(1), call.optional(4)
    outputs = [x, *([weight] if weight is not None else [])]
    return _backward(x, read_of(call.tensors(5)), [(one.shape, one.dtype) for one in outputs])


def batch_norm(call: Arguments) -> Work:
    """Return the work of ``native_batch_norm(x, weight, bias, mean, variance, training, …)``."""
    x = call.tensor(0)
    if len(x.shape) < 2:
        raise UnknownWork
    statistics = ((x.shape[1],), accumulated(x.dtype))
    written = written_of((x.shape, x.dtype), statistics, statistics)
    return Work(FORWARD * x.numel, read_of(call.tensors(5)), written, dtype=x.dtype)


def batch_norm_backward(call: Arguments) -> Work:
    """Return the work of ``native_batch_norm_backward(grad, x, weight, …)``.

    Libraries have x and the gradient in the other order; their shapes are equal.
    """
    x = call.tensor(1)
    if len(x.shape) < 2:
        raise UnknownWork
    weight = ((x.shape[1],), accumulated(x.dtype))
    return _backward(x, read_of(call.tensors(7)), [(x.shape, x.dtype), weight, weight])


def group_norm(call: Arguments) -> Work:
    """Return the work of ``native_group_norm(x, weight, bias, N, C, HxW, groups, eps)``."""
    x = call.tensor(0)
    groups = ((x.shape[0] if x.shape else 1, call.integer(6)), accumulated(x.dtype))
    written = written_of((x.shape, x.dtype), groups, groups)
    return Work(FORWARD * x.numel, read_of(call.tensors(3)), written, dtype=x.dtype)


def group_norm_backward(call: Arguments) -> Work:
    """Return the work of ``native_group_norm_backward(grad, x, mean, rstd, weight, …)``."""
    x, weight = call.tensor(1), call.optional(4)
    outputs = [x, *([weight, weight] if weight is not None else [])]
    return _backward(x, read_of(call.tensors(5)), [(one.shape, one.dtype) for one in outputs])


def rms_norm_into(call: Arguments) -> Work:
    """Return the work of ``rms_norm(out, x, weight, eps)`` of vLLM and SGLang."""
    out, x, weight = call.tensor(0), call.tensor(1), call.tensor(2)
    if out.shape != x.shape or weight.shape != x.shape[-1:]:
        raise UnknownWork
    return Work(ROOT_MEAN_SQUARE * x.numel, read_of([x, weight]), read_of([out]), dtype=x.dtype)


def added_rms_norm(call: Arguments) -> Work:
    """Return the work of vLLM's ``fused_add_rms_norm(x, residual, weight, eps)``, in place."""
    x, residual, weight = call.tensor(0), call.tensor(1), call.tensor(2)
    if residual.shape != x.shape or weight.shape != x.shape[-1:]:
        raise UnknownWork
    flops = (ROOT_MEAN_SQUARE + 1) * x.numel
    return Work(flops, read_of([x, residual, weight]), read_of([x, residual]), dtype=x.dtype)


MODELS: Mapping[str, Model] = {
    "native_layer_norm": layer_norm,
    "native_layer_norm_backward": layer_norm_backward,
    "layer_norm": layer_norm,
    "_fused_rms_norm": rms_norm,
    "_fused_rms_norm_backward": rms_norm_backward,
    "native_batch_norm": batch_norm,
    "_native_batch_norm_legit": batch_norm,
    "_batch_norm_with_update": batch_norm,
    "batch_norm": batch_norm,
    "native_batch_norm_backward": batch_norm_backward,
    "batch_norm_backward": batch_norm_backward,
    "native_group_norm": group_norm,
    "native_group_norm_backward": group_norm_backward,
    "_C::rms_norm": rms_norm_into,
    "rms_norm_static_fp8_quant": rms_norm_into,
    "rmsnorm": rms_norm_into,
    "gemma_rmsnorm": rms_norm_into,
    "fused_add_rms_norm": added_rms_norm,
    "fused_add_rmsnorm": added_rms_norm,
    "gemma_fused_add_rmsnorm": added_rms_norm,
}
