"""Find operators that convert, or read slowly, tensors whose dimensions the program permuted.

An operator that takes no strides copies such an input before it works, and one that takes them
reads memory in jumps. Both go with the layout that the program keeps.
"""

from __future__ import annotations

import json
import math
import re

import numpy as np

from tb_privateuse1.analysis.idioms.fused_kernel_rates import printed_memory
from tb_privateuse1.analysis.idioms.slow_products import Slow
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS, Kind, kind_of
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.model import KERNEL, MISSING, NONE, Trace
from tb_privateuse1.trace.table import I64, Bools

_READERS: tuple[Kind, ...] = (
    "elementwise", "normalization", "reduction", "softmax_loss", "pooling",
)  # fmt: skip
"""Kinds that pass over their inputs once. Products and convolutions arrange them by themselves."""
_BY_ROWS = re.compile(r"(layer|rms)_norm|softmax")
"""Operators over the last dimension, whose elements they expect next to each other."""


def permuted_readers(trace: Trace, shapes: set[int]) -> Slow:
    """Return activities that read permuted tensors, and their share beyond the memory's rate.

    ``shapes`` are ids of the recorded inputs of the program's own conversions: only tensors with
    such dimensions count. Without bytes or a rate of memory there are none.
    """
    work, rate = device_rates(trace).rows, printed_memory(trace)
    rows = _reading(trace, shapes, _READERS) if np.isfinite(rate) else np.empty(0, np.int64)
    duration = np.maximum(work.duration_ns[rows], 1)
    return Slow(rows, 1 - np.minimum(work.bytes[rows] / rate * 1e9 / duration, 1))


def rearranging(trace: Trace, shapes: set[int], copies: I64) -> Slow:
    """Return convolutions of tensors in different orders, and the share that it may cost them.

    They may rearrange each tensor that they read or write, which takes as long for each byte as
    ``copies`` take, rows of ``trace.kernels``.
    """
    work = device_rates(trace).rows
    known = copies[work.bytes[copies] != MISSING]
    rows = _reading(trace, shapes, ("convolution",)) if len(known) else np.empty(0, np.int64)
    slowness = work.duration_ns[known].sum() / max(int(work.bytes[known].sum()), 1)
    duration = np.maximum(work.duration_ns[rows], 1)
    # A copy reads and writes each byte.
    return Slow(rows, np.minimum(2 * work.bytes[rows] * slowness / duration, 1))


def _reading(trace: Trace, shapes: set[int], wanted: tuple[Kind, ...]) -> I64:
    """Return the activities of some kinds with known bytes that read tensors in jumps."""
    ops, kernels, work = trace.ops, trace.kernels, device_rates(trace).rows
    kinds = np.array([KINDS.index(kind) for kind in wanted])
    usable = (kernels.kind == KERNEL) & (kernels.op >= 0) & (work.bytes != MISSING)
    rows = np.flatnonzero(usable)
    names = groupby.distinct_values(ops.name[kernels.op[rows]])
    kind = np.full(len(trace.strings) + 1, NONE)
    for name in names.tolist():
        kind[name] = KINDS.index(kind_of(trace.text(name), trace.vendor))
    rows = rows[np.isin(kind[ops.name[kernels.op[rows]]], kinds)]
    if not len(rows):
        return rows
    op = kernels.op[rows]
    first, group = groupby.group_rows(ops.name[op], ops.shapes[op], ops.strides[op])
    sizes = {size for one in shapes for size in _sizes(trace.text(one))}
    flags = []
    for row in op[first].tolist():
        name, size, stride = (trace.text(one[row]) for one in (ops.name, ops.shapes, ops.strides))
        flags.append(_is_slow(name, size, stride, sizes))
    return rows[np.array(flags, np.bool_)[group]]


def of_program(trace: Trace, copies: I64, inside: Bools) -> I64:
    """Return the copies that the program asks for, and those of tensors of the same dimensions.

    ``copies`` are rows of ``trace.kernels``; ``inside`` tells which of them an operator with work
    of its own makes. An operator's own conversions are no fault where the program makes none.
    """
    shapes = trace.ops.shapes[trace.kernels.op[copies]]
    asked = mask_of(shapes[~inside], len(trace.strings))
    return copies[~inside | (asked[shapes] & (shapes >= 0))]


def _sizes(shapes: str) -> list[tuple[int, ...]]:
    try:
        return [tuple(sorted(size)) for size in json.loads(shapes) if len(size) > 1]
    except (ValueError, TypeError):
        return []


def _is_slow(name: str, shapes: str, strides: str, sizes: set[tuple[int, ...]]) -> bool:
    """Return whether an operator reads tensors of these sizes in jumps.

    It has two of one size in different orders, or works by rows that are not together in memory.
    """
    try:
        pairs = list(zip(json.loads(shapes), json.loads(strides), strict=False))
        orders: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
        for size, stride in pairs:
            if tuple(sorted(size)) in sizes and _is_dense(size, stride):
                if _BY_ROWS.search(name) and size[-1] > 1 and stride[-1] != 1:
                    return True
                orders.setdefault(tuple(size), set()).add(_order(size, stride))
        return any(len(found) > 1 for found in orders.values())
    except (ValueError, TypeError):
        return False


def _is_dense(size: list[int], stride: list[int]) -> bool:
    """Return whether all elements are there once, without gaps."""
    last = sum(step * (many - 1) for many, step in zip(size, stride, strict=True))
    return last + 1 == math.prod(size) and 0 not in stride


def _order(size: list[int], stride: list[int]) -> tuple[int, ...]:
    """Return the dimensions of more than one element, by their strides."""
    used = [at for at, many in enumerate(size) if many > 1]
    return tuple(sorted(used, key=lambda at: -stride[at]))
