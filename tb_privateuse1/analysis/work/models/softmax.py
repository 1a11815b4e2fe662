"""Work of softmax: maximum, subtract, exponential, sum and divide are five per element."""

from __future__ import annotations

from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Work, read_of, written_of

FORWARD, BACKWARD = 5, 4
"""Operations per element. The gradient is y (g - sum of g y): two products, a sum, a difference."""


def softmax(call: Arguments) -> Work:
    """Return the work of ``_softmax(x, dim, half_to_float)``."""
    x = call.tensor(0)
    dtype = "float32" if call.value(2) == "True" else x.dtype
    return Work(FORWARD * x.numel, read_of([x]), written_of((x.shape, dtype)), dtype=x.dtype)


def backward(call: Arguments) -> Work:
    """Return the work of ``_softmax_backward_data(grad, output, dim, input_dtype)``."""
    grad, output = call.tensor(0), call.tensor(1)
    if grad.shape != output.shape:
        raise UnknownWork
    written = written_of((grad.shape, call.dtype(3, grad.dtype)))
    return Work(BACKWARD * grad.numel, read_of([grad, output]), written, dtype=grad.dtype)


def masked(call: Arguments) -> Work:
    """Return the work of ``_masked_softmax(x, mask, dim, mask_type)``."""
    x = call.tensor(0)
    written = written_of((x.shape, x.dtype))
    return Work((FORWARD + 1) * x.numel, read_of(call.tensors(2)), written, dtype=x.dtype)


MODELS: Mapping[str, Model] = {
    "_softmax": softmax,
    "_log_softmax": softmax,
    "_safe_softmax": softmax,
    "_softmax_backward_data": backward,
    "_log_softmax_backward_data": backward,
    "_masked_softmax": masked,
}
