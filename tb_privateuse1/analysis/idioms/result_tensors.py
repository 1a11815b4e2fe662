"""Derive the shape and type of an operator's result from its recorded inputs.

torch records what operators take, not what they return. A result that is not surely known is None:
what reads it then has no known origin.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tb_privateuse1.analysis.work.arguments import (
    ITEM_BYTES,
    Arguments,
    Tensor,
    UnknownWork,
)
from tb_privateuse1.trace.table import HALF_INT64

CUTS = frozenset(("select", "slice", "narrow"))
"""Reduced names of operators that take a part of one dimension."""

_COMPARES = frozenset(
    ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "logical_and", "logical_or",
     "logical_not", "logical_xor", "greater", "less", "greater_equal", "less_equal", "not_equal")
)  # fmt: skip
_FLOATING = frozenset(
    ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan",
     "tanh", "sigmoid", "erf", "sinc", "reciprocal", "div", "true_divide", "softmax", "log_softmax")
)  # fmt: skip
"""Whole numbers become floating-point ones."""
_SAME = frozenset(
    ("contiguous", "clone", "detach", "alias", "neg", "abs", "square", "sign", "floor", "ceil",
     "round", "trunc", "clamp", "clamp_min", "clamp_max", "relu", "gelu", "silu", "bitwise_not",
     "tril", "triu", "cumsum", "cumprod", "flip", "roll", "fill", "zero", "layer_norm", "rms_norm",
     "native_layer_norm", "group_norm", "batch_norm", "dropout", "normal", "uniform", "bernoulli",
     "random", "lift_fresh", "masked_fill", "softmax", "log_softmax", "hardtanh",
     "scaled_dot_product_attention", "weight_norm", "leaky_relu", "elu", "copy", "positive",
     "nan_to_num", "zeros_like", "ones_like", "full_like",
     "rand_like", "randn_like", "empty_like", "randint_like")
)  # fmt: skip
"""The result is as the first input."""
_BROADCASTS = frozenset(
    ("add", "sub", "rsub", "mul", "pow", "fmod", "remainder", "maximum", "minimum", "lerp", "where",
     "floor_divide", "addcmul", "addcdiv", "bitwise_and", "bitwise_or", "bitwise_xor", "and", "or",
     "xor", "atan2", "polar", "div", "true_divide")
)  # fmt: skip
_REDUCES = frozenset(("sum", "mean", "amax", "amin", "prod", "norm", "any", "all", "logsumexp"))
_ASKS = ("any", "all")
"""Their dimension is a number, where other reductions take a list."""
_SIZED = {"ones": "float32", "zeros": "float32", "rand": "float32", "randn": "float32",
          "empty": "float32", "full": "", "eye": "float32", "arange": "", "linspace": "float32",
          "randint": "int64", "randperm": "int64"}  # fmt: skip
"""Operators that make tensors from numbers, and the type without a given one; empty: by values."""
_AT = {"ones": 1, "zeros": 1, "rand": 1, "randn": 1, "empty": 1, "full": 2}
"""Where their element type is given; of the others it is behind the numbers."""
_RANDOM = frozenset(("rand", "randn", "randint", "randperm", "rand_like", "randn_like",
                     "randint_like", "normal", "uniform", "bernoulli", "random", "dropout",
                     "multinomial", "empty", "empty_like", "empty_strided"))  # fmt: skip
"""Operators whose results differ from call to call, or are not filled."""
FACTORIES = frozenset(_SIZED) - _RANDOM


def is_random(word: str) -> bool:
    """Return whether an operator, by its reduced name, gives another result each time."""
    return word in _RANDOM


def writes_first(call: Arguments) -> bool:
    """Return whether a call writes its first input; ``__and__`` does not."""
    return call.in_place and not call.name.endswith("__")


def result_of(call: Arguments, word: str) -> Tensor | None:
    """Return the result of a call, whose reduced name is ``word``; None if it is not known."""
    try:
        shape, dtype = _result(call, word)
    except (UnknownWork, IndexError, ValueError, ZeroDivisionError, OverflowError):
        return None
    if not dtype or any(size < 0 for size in shape) or math.prod(shape) > HALF_INT64:
        return None
    return Tensor(tuple(shape), dtype, math.prod(shape))


def _result(call: Arguments, word: str) -> tuple[tuple[int, ...], str]:
    if word in _SIZED:
        return _made(call, word)
    if word in ("to", "to_copy"):
        return call.tensor(0).shape, _converted(call)
    if word in _SHAPES:
        return _SHAPES[word](call), call.tensor(0).dtype
    if word in CUTS:
        return _cut(call, word), call.tensor(0).dtype
    if word in _REDUCES:
        return _reduced(call, word), _promoted(call, word)
    if writes_first(call):
        return call.tensor(0).shape, call.tensor(0).dtype
    if word in _SAME:
        return call.tensor(0).shape, _promoted(call, word) if word in _FLOATING else (
            call.tensor(0).dtype
        )
    if word in _BROADCASTS or word in _COMPARES or word in _FLOATING:
        return _broadcast(call), _promoted(call, word)
    raise UnknownWork


def _made(call: Arguments, word: str) -> tuple[tuple[int, ...], str]:
    """Return shape and type of what a factory makes."""
    if word in _AT:
        dtype = call.dtype(_AT[word], _SIZED[word] or _type_of(call.value(1)))
        return call.integers(0), dtype
    if word == "randint":
        at = 2 if call.value(2).startswith("[") else 1
        return call.integers(at), call.dtype(at + 1, "int64")
    numbers = _leading_numbers(call, word)
    if word == "arange":
        first, last = (0.0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
        step = numbers[2] if len(numbers) > 2 else 1.0
        whole = all("." not in call.value(i) for i in range(len(numbers)))
        dtype = call.dtype(len(numbers), "int64" if whole else "float32")
        return (max(math.ceil((last - first) / step), 0),), dtype
    if word == "linspace":
        return (int(numbers[2]),), call.dtype(3, "float32")
    if word == "eye":
        sizes = [int(number) for number in numbers]
        return (sizes[0], sizes[-1]), call.dtype(len(sizes), "float32")
    if word == "randperm":
        return (int(numbers[0]),), call.dtype(1, "int64")
    raise UnknownWork


def _leading_numbers(call: Arguments, word: str) -> list[float]:
    """Return the numbers of a factory: what follows the first ones is a type."""
    most = {"arange": 3, "linspace": 3, "eye": 2}.get(word, 1)
    # Four arguments follow: type, layout, device and pinned memory.
    count = min(max(len(call.inputs) - 4, 1), most)
    return [float(call.value(i)) for i in range(count)]


def _type_of(number: str) -> str:
    if number in ("True", "False"):
        return "bool"
    return "int64" if number.lstrip("-").isdecimal() else "float32"


def _converted(call: Arguments) -> str:
    """Return the type that a conversion is asked for; that of its input without one."""
    for at in (1, 2):
        text = call.value(at)
        if text.isdecimal():
            return call.dtype(at, "")
        if len(call.inputs) > at and call.optional(at) is not None:
            return call.tensor(at).dtype
    return call.tensor(0).dtype


def _promoted(call: Arguments, word: str) -> str:
    """Return the type of an elementwise operator's result, by torch's promotion."""
    if word in _COMPARES:
        return "bool"
    tensors = list(call.tensors())[word == "where" :]
    if not tensors:
        raise UnknownWork  # a choice of two numbers of Python
    kinds = {one.dtype for one in tensors if one.shape} or {tensors[0].dtype}
    widest = max(kinds, key=lambda kind: (_rank(kind), ITEM_BYTES[kind]))
    numbers = [one.dtype for one in tensors if not one.shape]
    becomes = _rank(widest) < _FLOAT and (
        word in _FLOATING or word == "mean" or any(_rank(kind) == _FLOAT for kind in numbers)
    )
    if word in ("sum", "prod") and _rank(widest) < _FLOAT:
        return "int64"
    return "float32" if becomes else widest


_FLOAT = 2
"""The rank of floating types in torch's promotion: above bool and whole numbers, below complex."""


def _rank(dtype: str) -> int:
    if dtype.startswith(("float", "bfloat")):
        return _FLOAT
    return 3 if dtype.startswith("complex") else int(dtype != "bool")


def _broadcast(call: Arguments) -> tuple[int, ...]:
    shapes = [one.shape for one in call.tensors()]
    if not shapes:
        raise UnknownWork
    shape: list[int] = []
    for at in range(-max(map(len, shapes)), 0):
        sizes = {one[at] for one in shapes if len(one) >= -at} - {1}
        if len(sizes) > 1:
            raise UnknownWork
        shape.append(sizes.pop() if sizes else 1)
    return tuple(shape)


def _reduced(call: Arguments, word: str) -> tuple[int, ...]:
    shape, dims = call.tensor(0).shape, call.value(1)
    if word in _ASKS and dims:
        gone = {call.integer(1) % len(shape)}
    elif not dims.startswith("["):
        return ()
    elif dims == "[]":
        gone = set(range(len(shape)))
    else:
        gone = {one % len(shape) for one in call.integers(1)}
    keeps = call.value(2) in ("True", "1")
    return tuple(1 if i in gone else size for i, size in enumerate(shape) if keeps or i not in gone)


def _cut(call: Arguments, word: str) -> tuple[int, ...]:
    shape, dim = list(call.tensor(0).shape), call.integer(1)
    dim %= len(shape)
    if word == "select":
        del shape[dim]
    elif word == "narrow":
        shape[dim] = call.integer(3)
    else:
        first = call.integer(2) if call.value(2) else 0
        last = call.integer(3) if call.value(3) else shape[dim]
        shape[dim] = len(range(*slice(first, last, max(call.integer(4), 1)).indices(shape[dim])))
    return tuple(shape)


def _viewed(call: Arguments) -> tuple[int, ...]:
    sizes, numel = list(call.integers(1)), call.tensor(0).numel
    if -1 in sizes:
        known = -math.prod(sizes)
        sizes[sizes.index(-1)] = numel // known if known else 0
    return tuple(sizes)


def _expanded(call: Arguments) -> tuple[int, ...]:
    sizes, shape = list(call.integers(1)), call.tensor(0).shape
    for i in range(len(shape)):
        at = len(sizes) - len(shape) + i
        sizes[at] = shape[i] if sizes[at] < 0 else sizes[at]
    return tuple(sizes)


def _unsqueezed(call: Arguments) -> tuple[int, ...]:
    shape = list(call.tensor(0).shape)
    shape.insert(call.integer(1) % (len(shape) + 1), 1)
    return tuple(shape)


def _padded(call: Arguments) -> tuple[int, ...]:
    shape, pads = list(call.tensor(0).shape), call.integers(1)
    for i, (before, behind) in enumerate(zip(pads[::2], pads[1::2], strict=True)):
        shape[-1 - i] += before + behind
    return tuple(shape)


def _swapped(call: Arguments) -> tuple[int, ...]:
    shape = list(call.tensor(0).shape)
    a, b = call.integer(1) % len(shape), call.integer(2) % len(shape)
    shape[a], shape[b] = shape[b], shape[a]
    return tuple(shape)


def _linear(call: Arguments) -> tuple[int, ...]:
    return (*call.tensor(0).shape[:-1], call.tensor(1).shape[0])


def _product(call: Arguments) -> tuple[int, ...]:
    a, b = call.tensor(0).shape, call.tensor(1).shape
    if len(a) < 2 or len(b) < 2:
        raise UnknownWork
    return (*(a[:-2] if len(a) >= len(b) else b[:-2]), a[-2], b[-1])


def _distances(call: Arguments) -> tuple[int, ...]:
    a, b = call.tensor(0).shape, call.tensor(1).shape
    return (*(a[:-2] if len(a) >= len(b) else b[:-2]), a[-2], b[-2])


def _convolved(call: Arguments) -> tuple[int, ...]:
    x, weight = call.tensor(0).shape, call.tensor(1).shape
    stride, padding, dilation = (call.integers(at) for at in (3, 4, 5))
    sizes = (
        (size + 2 * pad - spread * (kernel - 1) - 1) // step + 1
        for size, kernel, step, pad, spread in zip(
            x[2:], weight[2:], stride, padding, dilation, strict=True
        )
    )
    return (x[0], weight[0], *sizes)


_SHAPES: dict[str, Callable[[Arguments], tuple[int, ...]]] = {
    "view": _viewed,
    "reshape": _viewed,
    "unsafe_view": _viewed,
    "expand": _expanded,
    "unsqueeze": _unsqueezed,
    "pad": _padded,
    "constant_pad_nd": _padded,
    "transpose": _swapped,
    "t": lambda call: call.tensor(0).shape[::-1],
    "permute": lambda call: tuple(call.tensor(0).shape[i] for i in call.integers(1)),
    "repeat": lambda call: tuple(
        size * times
        for size, times in zip(
            (1,) * (len(call.integers(1)) - len(call.tensor(0).shape)) + call.tensor(0).shape,
            call.integers(1),
            strict=True,
        )
    ),
    "outer": lambda call: (call.tensor(0).numel, call.tensor(1).numel),
    "conv1d": _convolved,
    "conv2d": _convolved,
    "conv3d": _convolved,
    "linear": _linear,
    "cdist": _distances,
    "matmul": _product,
    "mm": _product,
    "bmm": _product,
    "embedding": lambda call: (*call.tensor(1).shape, call.tensor(0).shape[-1]),
}
"""Operators whose result has the type of their first input, and its shape."""
VIEWS = frozenset(
    ("view", "reshape", "unsafe_view", "expand", "unsqueeze", "transpose", "t", "permute", "detach",
     "alias", "select", "slice", "narrow", "squeeze", "lift_fresh")
)  # fmt: skip
"""Operators that compute nothing."""


def cut_share(call: Arguments, word: str) -> tuple[float, int]:
    """Return the share of a dimension that a cut takes, and the dimension, counted from 0.

    ``word`` is the call's reduced name. Raises UnknownWork if the values are not recorded.
    """
    shape, dim = call.tensor(0).shape, call.integer(1)
    if not -len(shape) <= dim < len(shape) or not shape[dim]:
        raise UnknownWork
    size = shape[dim]
    if word == "select":
        return 1 / size, dim % len(shape)
    if word == "narrow":
        return call.integer(3) / size, dim % len(shape)
    first = call.integer(2) if call.value(2) else 0
    last = call.integer(3) if call.value(3) else size
    taken = range(*slice(first, last, max(call.integer(4), 1)).indices(size))
    return len(taken) / size, dim % len(shape)
