"""Compare one range's device work with the roofs of the device."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.roofs.rates import group_figures
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.views.lookups.event_items import TableName, check
from tb_privateuse1.views.lookups.links import launched_kernels


class CallWork(Struct, frozen=True):
    """The result of the lookup; null where nothing is known."""

    flops: int | None
    bytes: int | None
    tflop_per_s: float | None
    gb_per_s: float | None
    flops_per_byte: float | None
    """Arithmetic intensity."""
    roof_share: float | None
    """The least time that the device's roofs allow, as a share of the time, 0 to 1."""
    above_roof_ns: int | None
    """The rest of the time."""


def work(
    trace: Trace,
    *,
    table: Annotated[TableName, "the table that has the range"] = "kernels",
    index: Annotated[int, "row of the range in the table"] = 0,
) -> CallWork:
    """Return the work of an activity, or of those that a runtime call or an operator launched.

    Raises TraceError ``unknown_row``.
    """
    group = np.full(len(trace.kernels), NONE, np.int64)
    if len(getattr(trace, table)):
        check(trace, table, index)
        group[index if table == "kernels" else launched_kernels(trace, table, index)] = 0
    (found,) = group_figures(trace, group, 1)
    return CallWork(**found.columns())
