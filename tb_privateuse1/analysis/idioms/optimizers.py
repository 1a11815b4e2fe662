"""Find optimizers that update parameter by parameter, with several kernels for each."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.fused_kernel_rates import reachable
from tb_privateuse1.analysis.idioms.nodes import ELEMENTWISE, graph
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import distinct_values, sums
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools

_PASSES = {"root": 7, "state": 5, "plain": 3}
"""Tensors of a parameter's size that a fused kernel reads or writes: Adam (parameter, gradient and
two moments; all but the gradient are written), SGD with momentum, and without."""


class Updates(Struct, frozen=True):
    """The element-wise work of an optimizer: rows of ``trace.kernels``, now and fused."""

    kernels: I64
    duration_ns: int
    fused_ns: int

    @property
    def share(self) -> float:
        """Return the share of its time that a fused kernel saves."""
        return max(1 - self.fused_ns / self.duration_ns, 0.0) if self.duration_ns else 0.0


def updates(trace: Trace, inside: Bools) -> Updates | None:
    """Return the updates by operators of a mask; None if sizes or the memory's rate are unknown."""
    found, rate = graph(trace), reachable(trace).memory
    nodes = found.nodes
    chosen = inside[nodes.op] & (nodes.role == ELEMENTWISE)
    if rate is None or not chosen.any() or not nodes.known[chosen].all():
        return None
    # Each kind of operator writes every parameter once; scalars, such as step counts, are few.
    written = sums(np.where(chosen, nodes.word, -1), nodes.written_bytes, len(found.words))
    kinds = distinct_values(nodes.word[chosen])
    parameters = int(np.median(written[kinds]))
    names = {found.words[kind] for kind in kinds.tolist()}
    kind = "root" if {"sqrt", "rsqrt"} & names else "state" if len(kinds) > 1 else "plain"
    kernels = np.flatnonzero(lookup(chosen, found.kernel_node, False))
    return Updates(
        kernels=kernels,
        duration_ns=int(nodes.duration_ns[chosen].sum()),
        fused_ns=round(_PASSES[kind] * parameters / rate * 1e9),
    )
