"""Find the host's call with most of some time of the account, and the function that makes it.

The verdict and the advice ask here, so that both name one function for one cause.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.classes import NUMBER
from tb_privateuse1.analysis.account.host_activity import LAUNCHES, TABLES
from tb_privateuse1.analysis.account.pieces import Stretches
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.function_names import ProgramFunction
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64


class Cause(Struct, frozen=True):
    """The call or operator with most of a time, the operator around it, and the function."""

    name: str
    """Empty if no event is responsible."""
    operator: str
    """The operator around a call; empty without one."""
    where: ProgramFunction | None
    """The user's function with most of that time; None without Python stacks."""


def main_cause(trace: Trace, own: Stretches) -> Cause:
    """Return the cause with most of the time of stretches; there must be one at least.

    Python's own time has no event that is responsible: of all of it, the function counts.
    """
    name, operator = _names(trace, own)
    python = own.time_class == NUMBER["python"]
    name[python], operator[python] = NONE, NONE
    first, group = groupby.group_rows(name, operator)
    most = int(np.argmax(groupby.sums(group, own.end_ns - own.start_ns, len(first))))
    row = int(first[most])
    return Cause(
        name=trace.text(int(name[row])),
        operator=trace.text(int(operator[row])),
        where=function_of_stretches(trace, own.take(np.flatnonzero(group == most))),
    )


def function_of_stretches(trace: Trace, own: Stretches) -> ProgramFunction | None:
    """Return the user's function in which the threads were for most of some stretches.

    Where a thread is in no Python function, it is that of the stretch's operator, or of its forward
    operator.
    """
    op = np.full(len(own), NONE, np.int32)
    for number, table in enumerate(TABLES):
        here = np.flatnonzero((own.table == number) & (own.row >= 0))
        rows = own.row[here]
        op[here] = rows if table == "ops" else lookup(getattr(trace, table).op, rows, NONE)
    return user_functions.of_times(trace, own.thread, own.start_ns, own.end_ns, op)


def _names(trace: Trace, own: Stretches) -> tuple[I64, I64]:
    """Return the name of each stretch's call or operator, and of the operator around a call."""
    name, operator = np.full(len(own), NONE), np.full(len(own), NONE)
    known = own.row >= 0
    for number, table in enumerate(TABLES):
        here = np.flatnonzero(known & (own.table == number))
        name[here] = getattr(trace, table).name[own.row[here]]
    calls = np.flatnonzero(known & (own.table == LAUNCHES))
    around = trace.launches.op[own.row[calls]]
    operator[calls] = lookup(trace.ops.name, around, NONE)
    return name, operator
