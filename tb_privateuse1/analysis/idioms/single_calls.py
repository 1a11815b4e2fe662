"""Find chains of operators that are one call of torch's own: the program did not write the chain.

An operator such as a recurrent network is built of others where the processor has no kernel for it.
The program already calls the fused operator that the advice on a chain would name.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.idioms.chains import Chains
from tb_privateuse1.analysis.operators.module_of import forward_operators
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import LAST, maxima, minima, named_rows
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I64, Bools

_OWN = "aten::"
"""How torch names its own operators; those of a program or of a library have another namespace."""


def of_single_calls(trace: Trace, found: Chains) -> Bools:
    """Return by chain whether all of it is one call of an operator that is built of others.

    In the backward pass, it is the call whose gradient is computed.
    """
    op = found.graph.nodes.op
    forward = lookup(forward_operators(trace), op, NONE)
    call = _outermost_call(trace, np.where(forward >= 0, forward, op).astype(np.int64))
    count, chains = len(trace.ops), len(found.table)
    ahead = call[(forward < 0) & (call >= 0)]
    is_built = np.bincount(ahead, minlength=count + 1) > 1
    first = minima(found.chain, call, chains, initial=LAST)
    one: Bools = (first == maxima(found.chain, call, chains, initial=NONE)) & (first >= 0)
    return one & is_built[np.minimum(first, count)]


def _outermost_call(trace: Trace, rows: I64) -> I64:
    """Return the outermost of torch's own operators around each row or itself, or ``NONE``."""
    ops = trace.ops
    own = named_rows(trace.strings, ops.name, lambda name: name.startswith(_OWN))
    own &= ops.kind == OPERATOR
    found = call_tree.around(ops.parent, rows, own)
    further = found
    while (further >= 0).any():
        outer = lookup(ops.parent, further, NONE)
        further = call_tree.around(ops.parent, outer, own)
        found = np.where(further >= 0, further, found)
    return found
