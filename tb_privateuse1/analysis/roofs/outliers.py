"""Outliers that need no data sheet, in words: slow shapes, and kernels that become slower."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.analysis.roofs.shape_outliers import ShapeOutlier, shape_outliers
from tb_privateuse1.analysis.roofs.slowdowns import Slowdown, Slowdowns, slowdowns
from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.i18n.units import shorten, with_unit
from tb_privateuse1.trace.kernel_context import operator_names
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import Bools

Kind = Literal["shape", "kernel_slower", "device_slower"]
MOST = 20
"""The shared recordings have 5 at most."""


class Outlier(Struct, frozen=True):
    """Work that takes longer than other calls of the recording show to be possible."""

    kind: Kind
    """``shape``: slower than a similar shape. ``kernel_slower``: later calls take longer than
    earlier ones. ``device_slower``: most kernels become slower, as with a lower clock."""
    name: str
    """Operator, kernel, or empty for the device."""
    operator: str | None
    input_shapes: str | None
    peer_shapes: str | None
    """Of the shape that shows what is possible."""
    kernel: str | None
    """The full name of the kernel that takes longest in its longest call; null for the device."""
    peer_kernel: str | None
    """The same of the similar shape: another one may be the reason."""
    calls: int
    device_ns: int
    median_ns: int
    """Of a call; of a slowdown, of the last third of them."""
    expected_ns: int
    """By the similar shape; of a slowdown, the median of the first third."""
    factor: float
    """``median_ns`` by ``expected_ns``."""
    extra_ns: int
    """The time of all calls above the expected one."""
    evidence: str
    check: str
    """What would refute it."""
    longest_row: int
    """The longest activity, in the trace's table of kernels."""


def outliers(trace: Trace, chosen: Bools) -> tuple[Outlier, ...]:
    """Return the outliers among the chosen rows of ``trace.kernels``: slowdowns first."""
    slow = slowdowns(trace, chosen)
    shapes = [_of_shape(trace, one) for one in shape_outliers(trace, chosen)[:MOST]]
    return (*_of_slowdowns(trace, slow), *shapes)


def _of_shape(trace: Trace, one: ShapeOutlier) -> Outlier:
    ops = trace.ops
    return Outlier(
        kind="shape",
        name=trace.text(ops.name[one.op]),
        operator=trace.text(ops.name[one.op]),
        input_shapes=trace.text(ops.shapes[one.op]) or None,
        peer_shapes=trace.text(ops.shapes[one.peer_op]) or None,
        kernel=trace.text(trace.kernels.name[one.longest]),
        peer_kernel=trace.text(trace.kernels.name[one.peer_longest]),
        calls=one.calls,
        device_ns=one.device_ns,
        median_ns=one.median_ns,
        expected_ns=one.expected_ns,
        factor=one.median_ns / max(one.expected_ns, 1),
        extra_ns=one.extra_ns,
        evidence=_with_layout(trace, one, _shape_evidence(trace, one)),
        check=say(
            "It is refuted if the peer does less than its shapes say, or if the time stays the "
            "same with the peer's layout, alignment and values."
        ),
        longest_row=one.longest,
    )


def _shape_evidence(trace: Trace, one: ShapeOutlier) -> str:
    ops, values = (
        trace.ops,
        {
            "peer": shorten(trace.text(trace.ops.shapes[one.peer_op]), 200),
            "time": with_unit("_ns", one.peer_median_ns),
            "bytes": f"{one.more_bytes:.3g}",
            "flops": "" if one.more_flops is None else f"{one.more_flops:.3g}",
        },
    )
    if ops.shapes[one.op] == ops.shapes[one.peer_op]:
        return say("{time} a call with the same shapes and other strides or values.", **values)
    if one.more_flops is None:
        return say(
            "{time} a call by a similar shape; this one has {bytes} times its bytes. "
            "Similar: {peer}.",
            **values,
        )
    return say(
        "{time} a call by a similar shape; this one has {flops} times its FLOPs and {bytes} times "
        "its bytes. Similar: {peer}.",
        **values,
    )


def _with_layout(trace: Trace, one: ShapeOutlier, evidence: str) -> str:
    """Return the evidence, with the strides if only the slow shape is not contiguous."""
    own, peer = (_contiguous(trace, row) for row in (one.op, one.peer_op))
    if own is not False or peer is False:
        return evidence
    strides = shorten(trace.text(trace.ops.strides[one.op]), 120)
    layout = say("Its inputs are not contiguous: their strides are {strides}.", strides=strides)
    return join_sentences([evidence, layout])


def _contiguous(trace: Trace, op: int) -> bool | None:
    """Return whether all inputs of an operator lie in the order of their dimensions.

    None if their strides are not recorded.
    """
    shapes, strides = (trace.text(column[op]) for column in (trace.ops.shapes, trace.ops.strides))
    try:
        pairs = list(zip(json.loads(shapes), json.loads(strides), strict=True))
        return all(_in_order(*pair) for pair in pairs)
    except (ValueError, TypeError):
        return None


def _in_order(shape: list[int], strides: list[int]) -> bool:
    """Return whether strides are those of a contiguous tensor; a dimension of size 1 has any."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def _of_slowdowns(trace: Trace, slow: Slowdowns) -> Iterator[Outlier]:
    if slow.of_device:
        yield _of_device(slow)
        return
    for one in slow.kernels[:MOST]:
        yield _of_kernel(trace, one, slow)


def _of_device(slow: Slowdowns) -> Outlier:
    total = sum(one.device_ns for one in slow.kernels)
    factor = sum(one.factor * one.device_ns for one in slow.kernels) / max(total, 1)
    last = sum(one.calls * one.last_ns for one in slow.kernels)
    first = sum(one.calls * one.first_ns for one in slow.kernels)
    calls = sum(one.calls for one in slow.kernels)
    return Outlier(
        kind="device_slower",
        name="",
        operator=None,
        input_shapes=None,
        peer_shapes=None,
        kernel=None,
        peer_kernel=None,
        calls=calls,
        device_ns=total,
        median_ns=round(last / calls),
        expected_ns=round(first / calls),
        factor=factor,
        extra_ns=sum(one.extra_ns for one in slow.kernels),
        evidence=say(
            "{count} kernels with the same inputs take longer in the last third of the recording "
            "than in the first: {share} of the device time that can be compared.",
            count=len(slow.kernels),
            share=with_unit("share", slow.slower_ns / slow.judged_ns),
        ),
        check=say(
            "It is refuted if the device's clock did not fall: record clock, temperature and power."
        ),
        longest_row=slow.kernels[0].longest,
    )


def _of_kernel(trace: Trace, one: Slowdown, slow: Slowdowns) -> Outlier:
    kernels = trace.kernels
    (operator,) = operator_names(trace, kernels.take(np.array([one.row])))
    op = int(kernels.op[one.row])
    return Outlier(
        kind="kernel_slower",
        name=display_name(trace.text(kernels.name[one.row])),
        operator=trace.text(operator) or None,
        input_shapes=(trace.text(trace.ops.shapes[op]) or None) if op >= 0 else None,
        peer_shapes=None,
        kernel=trace.text(kernels.name[one.row]),
        peer_kernel=None,
        calls=one.calls,
        device_ns=one.device_ns,
        median_ns=one.last_ns,
        expected_ns=one.first_ns,
        factor=one.factor,
        extra_ns=one.extra_ns,
        evidence=say(
            "The last third of its calls takes {last}, the first third {first}, with the same "
            "inputs. Of the device time that can be compared, {share} became slower.",
            last=with_unit("_ns", one.last_ns),
            first=with_unit("_ns", one.first_ns),
            share=with_unit("share", slow.slower_ns / slow.judged_ns),
        ),
        check=say(
            "Most kernels did not become slower, so the clock is hardly the reason. It is refuted "
            "if the values of its inputs make it do more: a cache that grows, more sparse indices."
        ),
        longest_row=one.longest,
    )
