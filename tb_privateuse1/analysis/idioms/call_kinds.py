"""Kinds of products, convolutions and attention whose calls differ in their shapes only.

The best call of a kind shows what the device, or the host's processor, does with such work. A
gradient of a convolution is another routine than its forward pass; groups, and few queries of
attention, make a call one that mostly reads.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

from msgspec import Struct

from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.models import attention, convolutions
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace.vendor import Vendor

Family = Literal["products", "batches", "convolutions", "attention"]
"""``batches``: products of two batches of matrices; none is a weight."""

FAMILIES: tuple[Family, ...] = get_args(Family)

Part = Literal["forward", "backward", "by_input", "by_weight"]

_FEW = 16
"""Queries up to which attention reads each key for hardly more than one tile of a matrix unit."""


class CallKind(Struct, frozen=True, order=True):
    """A routine of a library: calls differ in their shapes only."""

    family: Family
    part: Part = "forward"
    reads: bool = False
    """Its time is that of its bytes: a convolution by groups, attention of few queries."""
    window: tuple[int, ...] = ()
    """Of convolutions: fast transforms are for some windows only."""
    stride: int = 0
    """Of convolutions: places of the input for each place of the result, rounded; 0 of others."""


def kind_of_call(call: Arguments, flops: int, vendor: Vendor) -> CallKind | None:
    """Return the kind of a call with these FLOPs; None for others, or where shapes do not tell."""
    word = reduced_name(call.name)
    try:
        match kind_of(call.name, vendor):
            case "gemm":
                return CallKind("batches" if _is_batch(call) else "products")
            case "convolution":
                return _convolution(call, word, flops)
            case "attention":
                part: Part = "backward" if word.endswith("backward") else "forward"
                queries = attention.sizes_of_attention(call, word).queries
                return CallKind("attention", part, queries <= _FEW)
            case _:
                return None
    except UnknownWork:
        return None


def _is_batch(call: Arguments) -> bool:
    matrices = [one.shape for one in call.tensors() if len(one.shape) >= 2]
    return len(matrices) >= 2 and all(len(shape) > 2 for shape in matrices[-2:])


def _convolution(call: Arguments, word: str, flops: int) -> CallKind | None:
    """Return the kind of a convolution; None of transposed ones, and without its sizes."""
    if "transpose" in word or "True" in (call.value(6), call.value(7)):
        return None
    part = _part(call, word)
    sizes = convolutions.sizes_of_gradient(call)
    if sizes is not None:
        x, grad, weight = sizes
        places = math.prod(grad[2:])
    elif part == "forward":
        x, weight = call.tensor(0).shape, call.tensor(1).shape
        places = flops // max(2 * x[0] * math.prod(weight), 1)
    else:
        return None
    if min(len(x), len(weight)) < 3 or not places:
        return None
    stride = round(math.prod(x[2:]) / places)
    return CallKind("convolutions", part, weight[1] < x[1], tuple(weight[2:]), stride)


def _part(call: Arguments, word: str) -> Part:
    if "backward" not in word:
        return "forward"
    wanted = call.flags(10)[:2] if call.value(10) else (True, True)
    if wanted == (True, True):
        return "backward"
    return "by_input" if wanted[0] else "by_weight"
