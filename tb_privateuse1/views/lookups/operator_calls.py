"""The calls of one row of the operator table: each with its place, and how long they take."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tb_privateuse1.analysis.operators import groups
from tb_privateuse1.analysis.operators.groups import Group
from tb_privateuse1.analysis.timeline.level_of_detail import Pyramid
from tb_privateuse1.trace.groupby import counted_operators, group_rows
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.event_items import (
    Instances,
    OrderOption,
    check,
    check_page,
    listed,
    rows_in_window,
)
from tb_privateuse1.views.shared_options import WindowOption


def operator_calls(
    trace: Trace,
    pyramid: Pyramid,
    *,
    index: Annotated[int, "row of one of the calls in the trace's operators"] = 0,
    group: Annotated[Group, "as in the view operators"] = "name",
    step: Annotated[int | None, "row of the trace's steps; by default no single step"] = None,
    window: WindowOption = "steady",
    order: OrderOption = "duration",
    limit: Annotated[int, "at most this many calls, 1000 or fewer"] = 100,
    offset: Annotated[int, "how many calls to skip"] = 0,
) -> Instances:
    """The calls that are in one row of the operator table with this one.

    ``index`` is a row of ``trace.ops``, ``step`` one of ``trace.steps``. An annotation is in no
    row. Raises TraceError ``bad_option``.
    """
    ops = trace.ops
    if not len(ops):
        return Instances("", None, 0, None, None, (), (), ())
    check(trace, "ops", index)
    check_page(trace, step, limit, offset)
    rows = np.flatnonzero(counted_operators(trace))
    at = np.flatnonzero(rows == index)
    if len(at):
        _, member = group_rows(*groups.group_columns(trace, rows, group))
        rows = rows[member == member[at[0]]]
    else:
        rows = rows[:0]
    rows = rows[rows_in_window(trace, "ops", index, step, window)[rows]]
    name = trace.text(ops.name[index])
    return listed(trace, pyramid, "ops", name, rows, index, order=order, limit=limit, offset=offset)
