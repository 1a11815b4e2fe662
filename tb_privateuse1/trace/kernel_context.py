"""Find the host ranges that a device activity comes from, with or without an operator.

With an operator it is the operator's place. Without one, as for a graph's replay or a launch of a
compiled function, it is that of the launch call: the annotation, the Python frame and the module
around the call.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import FRAME, NONE, OPERATOR, Kernels, Trace
from tb_privateuse1.trace.table import I32, Bools


class Context(Struct, frozen=True):
    """The place of each row of a table on the host; ``NONE`` where nothing is known of it."""

    around: I32
    """Row of ``trace.ops``: the operator, or without one the innermost annotation."""
    frame: I32
    """Row of ``trace.frames``: the innermost Python frame around the operator or the launch."""


@memoize
def launch_context(trace: Trace) -> Context:
    """Return the context of each row of ``trace.launches``."""
    launches = trace.launches
    of_op = lookup(trace.ops.frame, launches.op, NONE)
    return Context(
        launches.around, np.where(launches.op >= 0, of_op, launches.frame).astype(np.int32)
    )


@memoize
def kernel_context(trace: Trace) -> Context:
    """Return the context of each row of ``trace.kernels``."""
    op, launch, called = trace.kernels.op, trace.kernels.launch, launch_context(trace)
    return Context(
        np.where(op >= 0, op, lookup(called.around, launch, NONE)).astype(np.int32),
        np.where(
            op >= 0, lookup(trace.ops.frame, op, NONE), lookup(called.frame, launch, NONE)
        ).astype(np.int32),
    )


@memoize
def kernel_parents(trace: Trace) -> I32:
    """Return the innermost range that each row of ``trace.kernels`` comes from, or ``NONE``.

    Rows are all of ``trace.ops``, then all of ``trace.frames``, as in
    ``call_tree.parents_of_all``.
    """
    kernels, context = trace.kernels, kernel_context(trace)
    inner = call_tree.inner_range(trace, context.around, context.frame)
    return np.where(kernels.op >= 0, kernels.op, inner).astype(np.int32)


def launching_call(trace: Trace) -> I32:
    """Return the string that names the launch of each activity without an operator, or ``NONE``."""
    kernels = trace.kernels
    name = lookup(trace.launches.name, kernels.launch, NONE)
    return np.where(kernels.op >= 0, NONE, name).astype(np.int32)


def operator_names(trace: Trace, kernels: Kernels) -> I32:
    """Return the name of the operator that launched each activity, ``NONE`` if unknown.

    For the replay of a graph it is the operator that launched it in the graph's capture.
    """
    own = lookup(trace.ops.name, kernels.op, NONE)
    return np.where(kernels.op >= 0, own, captured_operators(trace, kernels)).astype(np.int32)


def captured_operators(trace: Trace, kernels: Kernels) -> I32:
    """Return the name of the operator around each activity's captured launch, or ``NONE``."""
    return _captured(trace, kernels, trace.captures.kind == OPERATOR)


def captured_modules(trace: Trace, kernels: Kernels) -> I32:
    """Return the name of the innermost module around each captured launch, or ``NONE``."""
    return _captured(trace, kernels, is_captured_module(trace))


def is_captured_module(trace: Trace) -> Bools:
    """Return which rows of ``trace.captures`` are calls of an nn.Module."""
    named = call_tree.starts_with(trace, call_tree.MODULE)
    is_module: Bools = (trace.captures.kind == FRAME) & named[trace.captures.name]
    return is_module


def captured_stack(trace: Trace, row: int) -> str | None:
    """Return the Python frames around a captured launch, innermost first, joined by ``;``.

    ``row`` is one of ``trace.captures``.
    """
    captures, names = trace.captures, []
    while row >= 0:
        if captures.kind[row] == FRAME:
            names.append(trace.text(captures.name[row]))
        row = int(captures.parent[row])
    return ";".join(names) or None


def _captured(trace: Trace, kernels: Kernels, wanted: Bools) -> I32:
    captures = trace.captures
    name = lookup(captures.name, call_tree.self_or_nearest(captures.parent, wanted), NONE)
    return lookup(name, kernels.capture, NONE)
