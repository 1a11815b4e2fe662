"""Shapes of an operator that are slower than others of the same operator and of a similar size.

No data sheet is needed: another call of the same operator shows what the device can do. It must
have between half and twice as many FLOPs and bytes, so that caches and launches weigh the same.

Libraries compute convolutions with fewer operations than their shapes say (Winograd, FFT),
depending on the size of the kernel and the stride. So only equal ones are compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.analysis.operators.kinds_of_work import KINDS
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.analysis.roofs.undisturbed import undisturbed
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import group_rows, sums
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.statistics import lower_medians
from tb_privateuse1.trace.table import F64, I64, Bools, Table

MOST_FACTOR = 1.5
"""A shape that takes longer than this many times is an outlier."""
LEAST_CALLS = 3
"""The median of fewer calls may be an accident."""
_LEAST_SHARE = 0.002
"""Shapes with less of the device time are not looked at."""
_SIMILAR = 2.0
"""The work of peers by that of a shape, or the inverse. Efficiency depends on the size, so a shape
twice as large is no model. With 1.5, 7 of 117 recordings have other outliers, with 4 two have."""


class ShapeOutlier(Struct, frozen=True):
    """A shape, and the peer that shows how fast it could be."""

    op: int
    """The row of its first operator in ``trace.ops``."""
    peer_op: int
    calls: int
    device_ns: int
    median_ns: int
    expected_ns: int
    """The peer's median, times the greater ratio of FLOPs or bytes, at least 1."""
    peer_median_ns: int
    more_flops: float | None
    """FLOPs by the peer's; None if neither has any."""
    more_bytes: float
    extra_ns: int
    """The time of its calls above the expected time."""
    longest: int
    """The row of its longest activity in ``trace.kernels``."""
    peer_longest: int


class _Shapes(Table, frozen=True):
    """Medians of the undisturbed calls of each shape."""

    op: I64
    family: I64
    """Only shapes of one family are compared; ``MISSING`` with none."""
    calls: I64
    total_ns: I64
    median_ns: I64
    shortest_ns: I64
    """The median at the least that the durations may be; ``longest_ns`` at the most."""
    longest_ns: I64
    flops: I64
    bytes: I64


def shape_outliers(trace: Trace, chosen: Bools) -> list[ShapeOutlier]:
    """Return the outliers among the calls of the chosen activities, the most time above first."""
    shapes, group = _shapes(trace, chosen)
    kernels = trace.kernels
    duration = kernels.end_ns - kernels.start_ns
    least = _LEAST_SHARE * int(duration[chosen].sum())
    found = list(_outliers(trace, shapes, group, least))
    return sorted(found, key=lambda one: -one.extra_ns)


def _shapes(trace: Trace, chosen: Bools) -> tuple[_Shapes, I64]:
    """Return the shapes, and by operator the one of its call (``MISSING`` without one)."""
    work, ops, kernels = operator_work(trace), trace.ops, trace.kernels
    op = kernel_work(trace).op
    resolution = device_rates(trace).resolution_ns
    duration, bound = kernels.end_ns - kernels.start_ns, kernels.duration_bound_ns
    unfit = chosen & (~undisturbed(trace) | (bound == MISSING))
    count = len(ops)
    whole = (work.read_bytes != MISSING) & (work.written_bytes != MISSING)
    size = np.where(whole, work.read_bytes + work.written_bytes, 0)
    time = sums(np.where(chosen, op, MISSING), duration, count)
    error = sums(np.where(chosen & ~unfit, op, MISSING), np.maximum(bound, 0) + resolution, count)
    disturbed = sums(np.where(unfit, op, MISSING), np.ones(len(op), np.int64), count) > 0
    calls = np.flatnonzero((time > 0) & ~disturbed & (size > 0))
    first, member = group_rows(
        *(column[calls] for column in (ops.name, ops.shapes, ops.dtypes, ops.strides, ops.concrete))
    )
    heads = calls[first]
    kind = _convolution_kinds(trace, heads, work.flops[heads])
    _, family = group_rows(ops.name[heads], work.dtype[heads], kind)
    group = np.full(count, MISSING, np.int64)
    group[calls] = member

    def median(column: I64) -> I64:
        return lower_medians(member, column[calls], len(first))

    return _Shapes(
        op=heads,
        family=np.where(kind == MISSING, MISSING, family),
        calls=np.bincount(member, minlength=len(first)).astype(np.int64),
        total_ns=sums(member, time[calls], len(first)),
        median_ns=median(time),
        shortest_ns=median(time - error),
        longest_ns=median(time + error),
        flops=work.flops[heads],
        bytes=size[heads],
    ), group


def _convolution_kinds(trace: Trace, rows: I64, flops: I64) -> I64:
    """Return a number by size of a convolution's kernel and stride: 0 for other operators.

    ``MISSING`` if one of them is unknown, as of most gradients by weight.
    """
    name = trace.ops.name[rows]
    numbers: dict[str, int] = {}
    found = np.zeros(len(rows), np.int64)
    is_convolution = name_categories(trace)[name] == KINDS.index("convolution")
    for i in np.flatnonzero(is_convolution).tolist():
        shapes = trace.text(trace.ops.shapes[rows[i]])
        kind = _convolution_kind(trace.text(name[i]), shapes, int(flops[i]))
        found[i] = MISSING if kind is None else numbers.setdefault(kind, len(numbers) + 1)
    return found


def _convolution_kind(name: str, shapes: str, flops: int) -> str | None:
    """Return the size of the kernel and the stride, from the inputs that have places.

    Strides are not always recorded. They show in the number of places: of a forward pass (input,
    weight) by its FLOPs, of a backward pass by its inputs (gradient, input, weight).
    """
    try:
        sizes = [one for one in json.loads(shapes) if len(one) > 2]
        *sides, weight = sizes
        if len(sides) != (2 if "backward" in name else 1):
            return None
        places = [math.prod(side[2:]) for side in sides]
        if len(sides) == 1:
            places.append(flops // (2 * sides[0][0] * math.prod(weight)))
        stride = (max(places) / min(places)) ** (1 / (len(weight) - 2))
        return f"{weight[2:]} {round(stride)}"
    except (ValueError, TypeError, ZeroDivisionError):
        return None


def _outliers(trace: Trace, shapes: _Shapes, group: I64, least_ns: float) -> Iterator[ShapeOutlier]:
    enough = (shapes.calls >= LEAST_CALLS) & (shapes.family != MISSING)
    for i in np.flatnonzero(enough & (shapes.total_ns >= least_ns)).tolist():
        peers = np.flatnonzero(enough & (shapes.family == shapes.family[i]))
        flops, size = _ratios(shapes.flops, i, peers), _ratios(shapes.bytes, i, peers)
        similar = _similar(flops) & _similar(size) & (peers != i)
        # A smaller shape may be less efficient, but not slower: more is 1 at least.
        peers, more = peers[similar], np.fmax(np.fmax(flops, size), 1)[similar]
        if not len(peers):
            continue
        expected = shapes.longest_ns[peers] * more
        best = int(np.argmin(expected))
        if shapes.shortest_ns[i] <= MOST_FACTOR * expected[best]:
            continue
        peer = int(peers[best])
        usual = round(float(shapes.median_ns[peer] * more[best]))
        ratio = float(flops[similar][best])
        yield ShapeOutlier(
            op=int(shapes.op[i]),
            peer_op=int(shapes.op[peer]),
            calls=int(shapes.calls[i]),
            device_ns=int(shapes.total_ns[i]),
            median_ns=int(shapes.median_ns[i]),
            expected_ns=usual,
            peer_median_ns=int(shapes.median_ns[peer]),
            more_flops=ratio if np.isfinite(ratio) else None,
            more_bytes=float(size[similar][best]),
            extra_ns=max(int(shapes.total_ns[i]) - int(shapes.calls[i]) * usual, 0),
            longest=_longest(trace, group, i),
            peer_longest=_longest(trace, group, peer),
        )


def _ratios(work: I64, i: int, peers: I64) -> F64:
    """Return the work of a shape by that of its peers; NaN where neither has any."""
    own, other = work[i], work[peers]
    if own <= 0:
        return np.where(other <= 0, np.nan, 0.0)
    return np.where(other > 0, own / np.maximum(other, 1), np.inf)


def _similar(ratio: F64) -> Bools:
    similar: Bools = np.isnan(ratio) | ((ratio >= 1 / _SIMILAR) & (ratio <= _SIMILAR))
    return similar


def _longest(trace: Trace, group: I64, shape: int) -> int:
    kernels, op = trace.kernels, kernel_work(trace).op
    rows = np.flatnonzero(lookup(group, op, MISSING) == shape)
    return int(rows[np.argmax(kernels.end_ns[rows] - kernels.start_ns[rows])])
