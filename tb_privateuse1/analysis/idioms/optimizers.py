"""Find optimizers that update parameter by parameter, with several kernels for each."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.fused_kernel_rates import reachable
from tb_privateuse1.analysis.idioms.nodes import ELEMENTWISE, Graph, graph
from tb_privateuse1.analysis.roofs.rates import device_rates
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import group_rows, minima
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools

_PASSES = {"root": 7, "state": 5, "plain": 3}
"""Tensors of a parameter's size that a fused kernel reads or writes: Adam (parameter, gradient and
two moments; all but the gradient are written), SGD with momentum, and without."""

_LEAST_PASSES = 2
"""Tensors that an operator moves: one that it reads, and one that it writes."""


class Updates(Struct, frozen=True):
    """The element-wise work of an optimizer: rows of ``trace.kernels``, now and fused."""

    kernels: I64
    duration_ns: int
    fused_ns: int
    """At the rate that the recording's own kernels reach."""
    least_ns: int
    """At that of the data sheet; 0 without one."""

    @property
    def share(self) -> float:
        """Return the share of its time that a fused kernel saves."""
        return self._saved(self.fused_ns)

    @property
    def most(self) -> float:
        """Return the greatest share: a fused kernel may be faster than any that was recorded."""
        return max(self._saved(self.least_ns), self.share)

    def _saved(self, left_ns: int) -> float:
        return max(1 - left_ns / self.duration_ns, 0.0) if self.duration_ns else 0.0


def updates(trace: Trace, inside: Bools) -> Updates | None:
    """Return the updates by operators of a mask; None if sizes or the memory's rate are unknown.

    Without shapes a fused kernel takes as long as its passes at the mean rate of these operators,
    which read and write one tensor at least.
    """
    found, rate = graph(trace), reachable(trace).memory
    nodes = found.nodes
    chosen = inside[nodes.op] & (nodes.role == ELEMENTWISE)
    if not chosen.any():
        return None
    kinds, calls = np.unique(nodes.word[chosen], return_counts=True)
    names = {found.words[kind] for kind in kinds.tolist()}
    kind = "root" if {"sqrt", "rsqrt"} & names else "state" if len(kinds) > 1 else "plain"
    kernels = np.flatnonzero(lookup(chosen, found.kernel_node, False))
    duration = int(nodes.duration_ns[chosen].sum())
    if not (trace.ops.shapes[nodes.op[chosen]] >= 0).any():
        # The rarest kind has a call for each parameter.
        passes = _PASSES[kind] * int(calls.min()) / (_LEAST_PASSES * int(calls.sum()))
        return Updates(kernels, duration, fused_ns=round(duration * passes), least_ns=0)
    if rate is None or not nodes.known[chosen].all():
        return None
    parameters = _parameter_bytes(found, np.flatnonzero(chosen))
    moved, printed = _PASSES[kind] * parameters, device_rates(trace).given.memory
    return Updates(
        kernels=kernels,
        duration_ns=duration,
        fused_ns=round(moved / rate * 1e9),
        least_ns=round(moved / printed * 1e9) if np.isfinite(printed) else 0,
    )


def _parameter_bytes(found: Graph, updates: I64) -> int:
    """Return the bytes of all parameters that some nodes update.

    A formula may call an operator several times for a parameter. Of all operators that write one
    size, the one that writes least often writes each parameter once.
    """
    nodes = found.nodes
    sized = updates[np.isin(updates, found.reads.node)]  # step counts have no dimensions
    first, kind = group_rows(nodes.word[sized], nodes.written_bytes[sized])
    once, size = group_rows(nodes.written_bytes[sized[first]])
    calls = minima(size, np.bincount(kind, minlength=len(first)), len(once))
    return int((calls * nodes.written_bytes[sized[first[once]]]).sum())
