"""Infer the data types of tensor lists (foreach operators), which torch does not record.

A list has one type: that of every tensor with one of its shapes elsewhere in the recording. If the
other tensors of these shapes have several types, or there is none, the type stays unknown.
"""

from __future__ import annotations

from msgspec.structs import replace

from tb_privateuse1.analysis.work import arguments
from tb_privateuse1.analysis.work.arguments import Arguments, Input
from tb_privateuse1.analysis.work.calls import group_calls
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace

Types = dict[tuple[int, ...], set[str]]
"""The types of the recorded tensors of each shape."""


@memoize
def types_by_shape(trace: Trace) -> Types:
    """Return the types of all recorded tensors with dimensions, by shape; none without a list."""
    ops = trace.ops
    if not groupby.named_rows(trace.strings, ops.dtypes, arguments.has_list).any():
        return {}
    rows = ((ops.shapes >= 0) & (ops.dtypes >= 0)).nonzero()[0]
    first, _ = group_calls(trace, rows, ("shapes", "dtypes"))
    types: Types = {}
    for row in rows[first].tolist():
        for shape, dtype in arguments.typed_shapes(
            trace.text(ops.shapes[row]), trace.text(ops.dtypes[row])
        ):
            types.setdefault(shape, set()).add(dtype)
    return types


def with_types(call: Arguments, types: Types) -> Arguments | None:
    """Return a call whose lists have types, or None if no list needs one or gets one."""
    if not any(isinstance(one, tuple) for one in call.inputs):
        return None
    inputs = tuple(_typed(one, types) for one in call.inputs)
    return replace(call, inputs=inputs) if inputs != call.inputs else None


def _typed(one: Input, types: Types) -> Input:
    if not isinstance(one, tuple):
        return one
    candidates = [types[t.shape] for t in one if not t.dtype and t.shape in types]
    common = set.intersection(*candidates) if candidates else set()
    if len(common) != 1:
        return one
    (dtype,) = common
    return tuple(replace(t, dtype=dtype) for t in one)
