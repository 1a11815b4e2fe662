"""Work of pooling and resizing: one operation per element of a window, and per result."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, read_of, written_of


def _spread(values: tuple[int, ...], dims: int) -> tuple[int, ...]:
    if len(values) not in (1, dims):
        raise UnknownWork
    return values if len(values) == dims else values * dims


def _windows(
    call: Arguments, dims: int, dilation: int | None, ceil: int
) -> tuple[tuple[int, ...], int]:
    """Return the shape of the result and the elements of a window."""
    x = call.tensor(0)
    if len(x.shape) <= dims:
        raise UnknownWork
    kernel = _spread(call.integers(1), dims)
    stride = _spread(call.integers(2), dims) if call.value(2) not in ("", "[]") else kernel
    padding = _spread(call.integers(3), dims)
    dilations = (1,) * dims if dilation is None else _spread(call.integers(dilation), dims)
    up = call.flag(ceil)
    places = []
    for size, k, s, p, d in zip(x.shape[-dims:], kernel, stride, padding, dilations, strict=True):
        if s < 1:
            raise UnknownWork
        count = (size + 2 * p - d * (k - 1) - 1 + (s - 1 if up else 0)) // s + 1
        # A window that would start in the padding at the end is left out.
        places.append(count - 1 if up and (count - 1) * s >= size + p else count)
    if min(places) < 1:
        raise UnknownWork
    return (*x.shape[:-dims], *places), math.prod(kernel)


def max_pool(call: Arguments) -> Work:
    """Return the work of ``max_pool2d_with_indices(x, kernel, stride, padding, dilation, …)``."""
    x, dims = call.tensor(0), 3 if "3d" in call.name else 2
    out, window = _windows(call, dims, 4, 5)
    written = written_of((out, x.dtype), (out, "int64"))
    return Work(math.prod(out) * window, read_of([x]), written, dtype=x.dtype)


def avg_pool(call: Arguments) -> Work:
    """Return the work of ``avg_pool2d(x, kernel, stride, padding, ceil, …)``."""
    x, dims = call.tensor(0), 3 if "3d" in call.name else 2
    out, window = _windows(call, dims, None, 4)
    return Work(math.prod(out) * window, read_of([x]), written_of((out, x.dtype)), dtype=x.dtype)


def max_pool_backward(call: Arguments) -> Work:
    """Return the work of ``max_pool2d_with_indices_backward(grad, x, …, indices)``.

    It adds each gradient at its index; x is not read.
    """
    grad, x = call.tensor(0), call.tensor(1)
    indices = call.tensor(7)
    return Work(grad.numel, read_of([grad, indices]), written_of((x.shape, x.dtype)), dtype=x.dtype)


def adaptive(call: Arguments) -> Work:
    """Return the work of ``_adaptive_avg_pool2d(x, size)``."""
    x, size = call.tensor(0), call.integers(1)
    out = (*x.shape[: len(x.shape) - len(size)], *size)
    return Work(x.numel, read_of([x]), written_of((out, x.dtype)), dtype=x.dtype)


def like_input(call: Arguments) -> Work:
    """Return the work of ``_adaptive_avg_pool2d_backward(grad, x)`` or ``avg_pool2d_backward``."""
    grad, x = call.tensor(0), call.tensor(1)
    return Work(x.numel, read_of([grad]), written_of((x.shape, x.dtype)), dtype=x.dtype)


def _resized(flops: int) -> Model:
    def work(call: Arguments) -> Work:
        x, size = call.tensor(0), call.integers(1)
        out = (*x.shape[: len(x.shape) - len(size)], *size)
        read = read_of([_smaller(x, math.prod(out) * max(flops, 1))])
        return Work(flops * math.prod(out), read, written_of((out, x.dtype)), dtype=x.dtype)

    return work


def resized_back(call: Arguments) -> Work:
    """Return the work of ``upsample_…_backward(grad, output_size, input_size, …)``."""
    grad, size = call.tensor(0), call.integers(2)
    if len(size) != len(grad.shape) or min(size) < 0:
        raise UnknownWork
    return Work(grad.numel, read_of([grad]), written_of((size, grad.dtype)), dtype=grad.dtype)


def _smaller(x: Tensor, most: int) -> Tensor:
    """Return the tensor; at most a few of its elements are read."""
    return Tensor(x.shape, x.dtype, min(x.stored, most))


MODELS: Mapping[str, Model] = {
    "max_pool2d_with_indices": max_pool,
    "max_pool3d_with_indices": max_pool,
    "max_pool2d_with_indices_backward": max_pool_backward,
    "max_pool3d_with_indices_backward": max_pool_backward,
    "avg_pool2d": avg_pool,
    "avg_pool3d": avg_pool,
    "avg_pool2d_backward": like_input,
    "avg_pool3d_backward": like_input,
    "_adaptive_avg_pool2d": adaptive,
    "_adaptive_avg_pool3d": adaptive,
    "_adaptive_avg_pool2d_backward": like_input,
    "_adaptive_avg_pool3d_backward": like_input,
    "upsample_nearest1d": _resized(0),
    "upsample_nearest2d": _resized(0),
    "upsample_nearest3d": _resized(0),
    "upsample_linear1d": _resized(3),
    "upsample_bilinear2d": _resized(7),
    "upsample_trilinear3d": _resized(15),
    "upsample_bicubic2d": _resized(31),
    "upsample_nearest2d_backward": resized_back,
    "upsample_bilinear2d_backward": resized_back,
    "upsample_bicubic2d_backward": resized_back,
}
