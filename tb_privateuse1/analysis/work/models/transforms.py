"""Work of Fourier transforms, and of image operators: im2col, pixel shuffle, padding.

A Fourier transform of n points counts 5 n log2 n operations, and half of it for real points, as its
benchmarks do (M. Frigo, S. Johnson: "The design and implementation of FFTW3", 2005).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, read_of, written_of
from tb_privateuse1.analysis.work.models.copies import padded, same

_PARTS = {"complex64": "float32", "complex128": "float64"}
_WHOLE = {part: whole for whole, part in _PARTS.items()}


def _axes(call: Arguments, dims: tuple[int, ...]) -> tuple[int, ...]:
    count = len(call.tensor(0).shape)
    axes = tuple(d % count for d in dims) if count else ()
    if not axes or any(not -count <= d < count for d in dims):
        raise UnknownWork
    return axes


def _operations(elements: int, points: int) -> int:
    return round(5 * elements * math.log2(max(points, 2)))


def fourier(call: Arguments) -> Work:
    """Return the work of ``_fft_c2c(x, dims, normalization, forward)``."""
    x = call.tensor(0)
    points = math.prod(x.shape[axis] for axis in _axes(call, call.integers(1)))
    if x.dtype not in _PARTS:
        raise UnknownWork
    flops = _operations(x.numel, points)
    return Work(flops, read_of([x]), written_of((x.shape, x.dtype)), dtype=x.dtype)


def fourier_of_real(call: Arguments) -> Work:
    """Return the work of ``_fft_r2c(x, dims, normalization, onesided)``."""
    x = call.tensor(0)
    axes = _axes(call, call.integers(1))
    out = list(x.shape)
    if call.flag(3):
        out[axes[-1]] = out[axes[-1]] // 2 + 1
    points = math.prod(x.shape[axis] for axis in axes)
    written = written_of((out, _WHOLE.get(x.dtype, "")))
    return Work(_operations(x.numel, points) // 2, read_of([x]), written, dtype=x.dtype)


def fourier_to_real(call: Arguments) -> Work:
    """Return the work of ``_fft_c2r(x, dims, normalization, last_size)``."""
    x, last = call.tensor(0), call.integer(3)
    axes = _axes(call, call.integers(1))
    out = list(x.shape)
    out[axes[-1]] = last
    points = math.prod(out[axis] for axis in axes)
    part = _PARTS.get(x.dtype, "")
    flops = _operations(math.prod(out), points) // 2
    return Work(flops, read_of([x]), written_of((out, part)), dtype=part)


def columns(call: Arguments) -> Work:
    """Return the work of ``im2col(x, kernel, dilation, padding, stride)``: a column per window."""
    x = call.tensor(0)
    given = [call.integers(at) for at in range(1, 5)]
    if len(x.shape) < 3 or any(len(one) != 2 for one in given):
        raise UnknownWork
    places = 1
    for size, kernel, dilate, pad, step in zip(x.shape[-2:], *given, strict=True):
        if step < 1:
            raise UnknownWork
        places *= max((size + 2 * pad - dilate * (kernel - 1) - 1) // step + 1, 0)
    out = (*x.shape[:-2], math.prod(given[0]), places)
    return Work(0, read_of([x]), written_of((out, x.dtype)), dtype=x.dtype)


def from_columns(call: Arguments) -> Work:
    """Return the work of ``col2im(columns, size, kernel, …)``, which adds up the windows."""
    x, size, window = call.tensor(0), call.integers(1), math.prod(call.integers(2))
    if len(x.shape) < 2 or len(size) != 2 or window < 1 or x.shape[-2] % window:
        raise UnknownWork
    out = (*x.shape[:-2], x.shape[-2] // window, *size)
    return Work(x.numel, read_of([x]), written_of((out, x.dtype)), dtype=x.dtype)


def bordered_back(call: Arguments) -> Work:
    """Return the work of ``reflection_pad2d_backward(grad, x, padding)``; x is not read."""
    grad, x = call.tensor(0), call.tensor(1)
    return Work(grad.numel, read_of([grad]), written_of((x.shape, x.dtype)), dtype=x.dtype)


_BORDERS = tuple(
    f"{kind}_pad{dims}d" for kind in ("reflection", "replication") for dims in (1, 2, 3)
)

MODELS: Mapping[str, Model] = {
    "_fft_c2c": fourier,
    "_fft_r2c": fourier_of_real,
    "_fft_c2r": fourier_to_real,
    "im2col": columns,
    "col2im": from_columns,
    "pixel_shuffle": same,
    "pixel_unshuffle": same,
    "channel_shuffle": same,
    **dict.fromkeys(_BORDERS, padded),
    **dict.fromkeys((f"{name}_backward" for name in _BORDERS), bordered_back),
}
