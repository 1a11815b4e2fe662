"""Work of reductions and scans: one operation per element that is read."""

from __future__ import annotations

from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, read_of, written_of


def reduced(x: Tensor, dims: tuple[int, ...]) -> int:
    """Return the number of elements that remain; without dimensions all are reduced."""
    if not dims:
        return 1
    axes = {d + len(x.shape) if d < 0 else d for d in dims}
    if axes and x.shape and not all(0 <= d < len(x.shape) for d in axes):
        raise UnknownWork
    remaining = 1
    for axis, size in enumerate(x.shape):
        remaining *= 1 if axis in axes else size
    return remaining


def _dims(call: Arguments, at: int) -> tuple[int, ...]:
    """Return the reduced dimensions; they are one number, a list, or not given for all."""
    text = call.value(at)
    if text.startswith("["):
        return call.integers(at)
    if text.lstrip("-").isdecimal():
        return (call.integer(at),)
    if call.values or len(call.inputs) == 1:
        return ()
    raise UnknownWork


def _model(dims: int, *results: str, flops: int = 1) -> Model:
    """Return a model; ``dims`` is the position of the dimensions, ``results`` the types.

    An empty type is that of the operand.
    """

    def work(call: Arguments) -> Work:
        x = call.tensor(0)
        try:
            remaining = reduced(x, _dims(call, dims))
        except UnknownWork:
            written = None
        else:
            outputs = (((remaining,), dtype or x.dtype) for dtype in results or ("",))
            written = written_of(*outputs)
        return Work(flops * x.numel, read_of([x]), written, dtype=x.dtype)

    return work


def extreme(call: Arguments) -> Work:
    """Return the work of ``max(x)``, ``max(x, dim)`` with indices, or ``max(x, y)``."""
    x, y = call.tensor(0), call.optional(1)
    if y is not None:
        written = written_of((x.shape, x.dtype))
        return Work(x.numel, read_of([x, y]), written, dtype=x.dtype)
    return (_model(1) if len(call.inputs) == 1 else _model(1, "", "int64"))(call)


def scan(call: Arguments) -> Work:
    """Return the work of ``cumsum(x, dim)``; sums of integers are int64."""
    x = call.tensor(0)
    whole = x.dtype.startswith(("int", "uint", "bool")) and not call.in_place
    written = written_of((x.shape, "int64" if whole else x.dtype))
    return Work(x.numel, read_of([x]), written, dtype=x.dtype)


def total(call: Arguments) -> Work:
    """Return the work of ``sum(x, dims, keepdim, dtype)``; sums of integers are int64."""
    x = call.tensor(0)
    whole = x.dtype.startswith(("int", "uint", "bool"))
    return _model(1, "int64" if whole else call.dtype(3, x.dtype))(call)


MODELS: Mapping[str, Model] = {
    "sum": total,
    "nansum": total,
    "mean": _model(1),
    "prod": _model(1),
    "amax": _model(1),
    "amin": _model(1),
    "aminmax": _model(1, "", ""),
    "logsumexp": _model(1, flops=3),
    "argmax": _model(1, "int64"),
    "argmin": _model(1, "int64"),
    "all": _model(1, "bool"),
    "any": _model(1, "bool"),
    "max": extreme,
    "min": extreme,
    "median": extreme,
    "norm": _model(2, flops=2),
    "linalg_vector_norm": _model(2, flops=2),
    "var": _model(1, flops=3),
    "std": _model(1, flops=3),
    "var_mean": _model(1, "", "", flops=3),
    "std_mean": _model(1, "", "", flops=3),
    "count_nonzero": _model(1, "int64"),
    "cumsum": scan,
    "cumprod": scan,
    "logcumsumexp": scan,
}
