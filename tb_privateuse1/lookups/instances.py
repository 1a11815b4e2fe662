"""The activities of one row of the kernel table: each with its place, and how long they take."""

from __future__ import annotations

import numpy as np

from tb_privateuse1 import kernelgroups
from tb_privateuse1.kernelgroups import Group
from tb_privateuse1.lookups.base import Instances, Order, check, check_page, listed
from tb_privateuse1.pyramid import Pyramid
from tb_privateuse1.trace import Trace


def instances(
    trace: Trace,
    pyramid: Pyramid,
    *,
    index: int = 0,
    group: Group = "operator",
    step: int | None = None,
    order: Order = "duration",
    limit: int = 100,
    offset: int = 0,
) -> Instances:
    """The activities that are in one row of the kernel table with this activity.

    ``step`` is a row of ``trace.steps``. The longest first, or in the order of time. Raises
    TraceError ``bad_option``.
    """
    kernels = trace.kernels
    if not len(kernels):
        return Instances("", 0, (), ())
    check(trace, "kernels", index)
    check_page(trace, step, limit, offset)
    _, member = kernelgroups.groups(trace, kernels, group)
    same = member == member[index]
    if step is not None:
        same &= kernels.step == step
    name = trace.text(kernels.name[index])
    rows = np.flatnonzero(same)
    return listed(trace, pyramid, "kernels", name, rows, order=order, limit=limit, offset=offset)
