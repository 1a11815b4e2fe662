"""Find work that gives what is there already: by where the inputs of each operator come from.

Profilers record no identity of tensors. A tensor is known here by elements and type, and only
if its origin is sure. Three origins make a result one that is there already:

- constants: a chain of operators from ``arange``, ``ones`` and others with the same numbers;
- conversions: a tensor that is converted to another type, and directly back;
- weights: what works on an unchanged tensor before it enters a layer at the place of a weight.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.outermost_calls import (
    FLOATING,
    Call,
    OutermostCalls,
    outermost_calls,
)
from tb_privateuse1.analysis.idioms.prepared_weights import prepared_weights
from tb_privateuse1.analysis.idioms.repeated_constants import repeated_constants
from tb_privateuse1.analysis.steps.training_phases import BACKWARD, phase_kinds
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64


class Repeated(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` whose result is there already, by origin of their inputs."""

    constants: I64
    scaled: I64
    """Constants that a number scales which is not recorded: it may be another one each time."""
    filters: I64
    """Such constants that a layer takes as its weight, behind the first step that makes them."""
    beside: I64
    """Constants, if a tensor of their size that no operator makes is the same each time."""
    conversions: I64
    """With the nodes of autograd that convert the gradients there and back."""
    weights: I64

    def rows(self) -> I64:
        """Return the rows of all origins, in order."""
        constants = (self.constants, self.scaled, self.filters, self.beside)
        return np.unique(np.concatenate((*constants, self.conversions, self.weights)))


@memoize
def repeated_results(trace: Trace) -> Repeated:
    """Return the operators whose result is there already; the first one of its kind is needed."""
    none = np.empty(0, np.int64)
    if not (trace.ops.shapes >= 0).any():
        return Repeated(none, none, none, none, none, none)
    operators = outermost_calls(trace)
    constants = repeated_constants(trace, operators)
    return Repeated(
        constants=operators.rows[constants.sure],
        scaled=operators.rows[constants.scaled],
        filters=operators.rows[constants.weights],
        beside=operators.rows[constants.beside],
        conversions=_with_gradients(trace, operators.rows[_there_and_back(operators)]),
        weights=operators.rows[prepared_weights(trace, operators)],
    )


def _there_and_back(operators: OutermostCalls) -> I64:
    """Return the places of conversions to another type and directly back."""
    is_cast = operators.named("to", "to_copy")
    first = np.flatnonzero(is_cast[:-1] & is_cast[1:])
    first = first[operators.thread[first] == operators.thread[first + 1]]
    if not len(first):
        return np.empty(0, np.int64)
    pairs, pair = groupby.group_rows(operators.call[first], operators.call[first + 1])
    back = np.array(
        [_goes_back(operators.at(i), operators.at(i + 1)) for i in first[pairs].tolist()], np.bool_
    )
    chosen = first[back[pair]]
    both: I64 = np.concatenate((chosen, chosen + 1))
    return np.unique(both)


def _goes_back(there: Call, back: Call) -> bool:
    if len(there.reads) != 1 or len(back.reads) != 1:
        return False
    begin, middle = there.reads[0], there.result
    floats = begin[1] in FLOATING and middle is not None and middle[1] in FLOATING
    return floats and begin != middle and back.reads[0] == middle and back.result == begin


def _with_gradients(trace: Trace, rows: I64) -> I64:
    """Return the rows, and autograd's nodes that compute their gradients."""
    if not len(rows):
        return rows
    forward = call_tree.linked_forward(trace)
    outer = call_tree.self_or_nearest(trace.ops.parent, mask_of(rows, len(trace.ops)))
    nodes = np.flatnonzero(phase_kinds(trace) == BACKWARD)
    nodes = nodes[forward[nodes] >= 0]
    return np.union1d(rows, nodes[outer[forward[nodes]] >= 0])
