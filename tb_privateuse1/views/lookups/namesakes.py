"""The ranges of a table that have the same name as one of them, and how long they take."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from tb_privateuse1.analysis.timeline.level_of_detail import Pyramid
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.event_items import (
    Instances,
    OrderOption,
    TableName,
    check,
    check_page,
    listed,
)


def namesakes(
    trace: Trace,
    pyramid: Pyramid,
    *,
    table: Annotated[TableName, "the table that has the range"] = "kernels",
    index: Annotated[int, "row of the range in the table"] = 0,
    order: OrderOption = "typical",
    limit: Annotated[int, "at most this many ranges, 1000 or fewer"] = 100,
    offset: Annotated[int, "how many ranges to skip"] = 0,
) -> Instances:
    """The ranges of the whole recording with the name of this one, itself among them.

    A table of rows groups by more than the name. Raises TraceError ``unknown_row`` or
    ``bad_option``.
    """
    names = getattr(trace, table).name
    if not len(names):
        return Instances("", None, 0, None, None, (), (), ())
    check(trace, table, index)
    check_page(trace, None, limit, offset)
    rows = np.flatnonzero(names == names[index])
    name = trace.text(names[index])
    return listed(trace, pyramid, table, name, rows, index, order=order, limit=limit, offset=offset)
