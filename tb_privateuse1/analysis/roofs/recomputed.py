"""Find the operators that repeat the forward pass within the backward pass (checkpointing)."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.trace.groupby import group_rows, minima
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I32, Bools


def recomputed_operators(trace: Trace, rows: I32) -> Bools:
    """Return which of these rows of ``trace.ops`` compute again what the forward pass computed.

    They lie in an operator that has a sequence number of its own as in the forward pass, within an
    operator of the backward pass, and have the name and input shapes of an operator that ran
    outside of any backward pass earlier in the step. So second derivatives are none of them.
    """
    ops = trace.ops
    backward = (ops.sequence >= 0) & (ops.forward_thread > 0)
    forward = (ops.sequence >= 0) & ~backward
    if not backward.any() or not len(rows):
        return np.zeros(len(rows), np.bool_)
    distinct, place = np.unique(rows, return_inverse=True)
    is_forward, repeats = (np.zeros(len(distinct), np.bool_) for _ in range(2))
    inside = np.zeros(len(distinct), np.bool_)
    left, at = np.arange(len(distinct)), distinct
    while len(left):
        node = backward[at]
        inside[left[node]] = True
        repeats[left[node]] = is_forward[left[node]]
        is_forward[left] |= forward[at]
        up = ops.parent[at]
        on = (up >= 0) & ~node
        left, at = left[on], up[on]
    first, group = group_rows(ops.name[distinct], ops.shapes[distinct], ops.step[distinct])
    ahead = ~inside
    earliest = minima(group[ahead], ops.start_ns[distinct[ahead]], len(first))
    repeats &= (earliest[group] < ops.start_ns[distinct]) & (ops.shapes[distinct] != NONE)
    found: Bools = repeats[place]
    return found
