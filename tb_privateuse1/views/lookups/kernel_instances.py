"""The activities of one row of the kernel table: each with its place, and how long they take."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tb_privateuse1.analysis.kernels import groups
from tb_privateuse1.analysis.kernels.groups import Group
from tb_privateuse1.analysis.timeline.level_of_detail import Pyramid
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


def kernel_instances(
    trace: Trace,
    pyramid: Pyramid,
    *,
    index: Annotated[int, "row of one of the activities in the trace's kernels"] = 0,
    group: Annotated[Group, "as in the view kernels"] = "operator",
    step: Annotated[int | None, "row of the trace's steps; by default no single step"] = None,
    window: WindowOption = "steady",
    order: OrderOption = "duration",
    limit: Annotated[int, "at most this many activities, 1000 or fewer"] = 100,
    offset: Annotated[int, "how many activities to skip"] = 0,
) -> Instances:
    """The activities that are in one row of the kernel table with this activity.

    ``step`` is a row of ``trace.steps``. Raises TraceError ``bad_option``.
    """
    kernels = trace.kernels
    if not len(kernels):
        return Instances("", None, 0, None, None, (), (), ())
    check(trace, "kernels", index)
    check_page(trace, step, limit, offset)
    _, member = groups.group_kernels(trace, kernels, group)
    same = member == member[index]
    same &= rows_in_window(trace, "kernels", index, step, window)
    name = trace.text(kernels.name[index])
    rows = np.flatnonzero(same)
    return listed(
        trace, pyramid, "kernels", name, rows, index, order=order, limit=limit, offset=offset
    )
