"""Work of element-wise operators: one operation per element of the result, whatever it is."""

from __future__ import annotations

from collections.abc import Mapping

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.call_work import (
    Model,
    Work,
    broadcast,
    promoted,
    read_of,
    written_of,
)


def _model(operands: int, result: str = "") -> Model:
    """Return a model for this many operands; the result is of the promoted type by default."""

    def work(call: Arguments) -> Work:
        inputs = [one for at in range(operands) if (one := call.optional(at)) is not None]
        if not inputs:
            raise UnknownWork
        out = broadcast(one.shape for one in inputs)
        elements = 1
        for size in out:
            elements *= size
        # In place, and for a choice by a mask, the type is that of one operand.
        dtype = inputs[0].dtype if call.in_place else result or promoted(inputs)
        return Work(elements, read_of(inputs), written_of((out, dtype)), dtype=promoted(inputs))

    return work


def where(call: Arguments) -> Work:
    """Return the work of ``where(condition, x, y)``."""
    choices = [one for at in (1, 2) if (one := call.optional(at)) is not None]
    if not choices:
        raise UnknownWork
    inputs = [call.tensor(0), *choices]
    out = broadcast(one.shape for one in inputs)
    elements = 1
    for size in out:
        elements *= size
    dtype = promoted(choices)
    return Work(elements, read_of(inputs), written_of((out, dtype)), dtype=dtype)


def masked_fill(call: Arguments) -> Work:
    """Return the work of ``masked_fill(x, mask, value)``."""
    x, mask = call.tensor(0), call.tensor(1)
    shape = broadcast((x.shape, mask.shape))
    return Work(x.numel, read_of([x, mask]), written_of((shape, x.dtype)), dtype=x.dtype)


def glu(call: Arguments) -> Work:
    """Return the work of ``glu(x, dim)``, whose result is half as large."""
    x = call.tensor(0)
    half = x.numel // 2
    return Work(2 * half, read_of([x]), written_of(((half,), x.dtype)), dtype=x.dtype)


def gated_into(call: Arguments) -> Work:
    """Return the work of ``silu_and_mul(out, x)`` of vLLM and SGLang."""
    out, x = call.tensor(0), call.tensor(1)
    if x.numel != 2 * out.numel:
        raise UnknownWork
    return Work(2 * out.numel, read_of([x]), read_of([out]), dtype=x.dtype)


def dropout(call: Arguments) -> Work:
    """Return the work of ``native_dropout(x, p, train)``, which also writes a mask."""
    x = call.tensor(0)
    written = written_of((x.shape, x.dtype), (x.shape, "bool"))
    return Work(2 * x.numel, read_of([x]), written, dtype=x.dtype)


_UNARY = (
    "abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "bitwise_not", "ceil",
    "clamp_max", "clamp_min", "cos", "cosh", "digamma", "elu", "erf", "erfc", "erfinv", "exp",
    "exp2", "expm1", "floor", "frac", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "leaky_relu", "lgamma", "log", "log10", "log1p", "log2", "log_sigmoid", "log_sigmoid_forward",
    "logit", "mish", "nan_to_num", "neg", "positive", "reciprocal", "relu", "relu6", "round",
    "rsqrt", "selu", "sgn", "sigmoid", "sign", "silu", "sin", "sinc", "sinh", "softplus",
    "softshrink", "sqrt", "square", "tan", "tanh", "threshold", "trunc",
)  # fmt: skip
_BINARY = (
    "__and__", "__lshift__", "__or__", "__rshift__", "__xor__", "add", "atan2", "bitwise_and",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "copysign", "div",
    "elu_backward", "floor_divide", "fmax", "fmin", "fmod", "gelu_backward", "hardsigmoid_backward",
    "hardswish_backward", "hardtanh_backward", "hypot", "leaky_relu_backward", "logaddexp",
    "logaddexp2", "logit_backward", "log_sigmoid_backward", "maximum", "minimum", "mish_backward",
    "mul", "native_dropout_backward", "nextafter", "pow", "prelu", "_prelu_kernel", "remainder",
    "rsub", "sigmoid_backward", "silu_backward", "softplus_backward", "sub", "tanh_backward",
    "threshold_backward", "xlogy",
)  # fmt: skip
_TERNARY = ("addcdiv", "addcmul", "clamp", "lerp")
_UNARY_TESTS = ("isfinite", "isinf", "isnan", "logical_not", "signbit")
_TESTS = (
    "eq", "ge", "gt", "isclose", "le", "logical_and", "logical_or", "logical_xor", "lt", "ne",
)  # fmt: skip

MODELS: Mapping[str, Model] = {
    **dict.fromkeys(_UNARY, _model(1)),
    **dict.fromkeys(_BINARY, _model(2)),
    **dict.fromkeys(_TERNARY, _model(3)),
    **dict.fromkeys(_UNARY_TESTS, _model(1, "bool")),
    **dict.fromkeys(_TESTS, _model(2, "bool")),
    "where": where,
    "_s_where": where,
    "masked_fill": masked_fill,
    "glu": glu,
    "silu_and_mul": gated_into,
    "gelu_and_mul": gated_into,
    "gelu_tanh_and_mul": gated_into,
    "mul_and_silu": gated_into,
    "swigluoai_and_mul": gated_into,
    "silu_and_mul_quant": gated_into,
    "native_dropout": dropout,
    "_fused_dropout": dropout,
}
