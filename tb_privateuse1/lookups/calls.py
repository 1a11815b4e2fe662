"""The calls of one row of the operator table: each with its place, and how long they take."""

from __future__ import annotations

import numpy as np

from tb_privateuse1 import opgroups
from tb_privateuse1.grouping import counted, grouped
from tb_privateuse1.lookups.base import Instances, Order, check, check_page, listed
from tb_privateuse1.opgroups import Group
from tb_privateuse1.pyramid import Pyramid
from tb_privateuse1.trace import Trace


def calls(
    trace: Trace,
    pyramid: Pyramid,
    *,
    index: int = 0,
    group: Group = "name",
    step: int | None = None,
    order: Order = "duration",
    limit: int = 100,
    offset: int = 0,
) -> Instances:
    """The calls that are in one row of the operator table with this one.

    ``index`` is a row of ``trace.ops``, ``step`` one of ``trace.steps``. An annotation is in no
    row. The longest first, or in the order of time. Raises TraceError ``bad_option``.
    """
    ops = trace.ops
    if not len(ops):
        return Instances("", 0, (), ())
    check(trace, "ops", index)
    check_page(trace, step, limit, offset)
    rows = np.flatnonzero(counted(trace))
    at = np.flatnonzero(rows == index)
    if len(at):
        _, member = grouped(*opgroups.columns(trace, rows, group))
        rows = rows[member == member[at[0]]]
    else:
        rows = rows[:0]
    if step is not None:
        rows = rows[ops.step[rows] == step]
    name = trace.text(ops.name[index])
    return listed(trace, pyramid, "ops", name, rows, order=order, limit=limit, offset=offset)
