"""Work and time of a few rows, for tests of roofs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_privateuse1.analysis.roofs.rate_types import RATE_TYPES
from tb_privateuse1.analysis.roofs.work_rows import WorkRows
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I64


def work(
    *,
    duration_ns: Sequence[int],
    flops: Sequence[int | None] | None = None,
    size: Sequence[int | None] | None = None,
    types: Sequence[str] | None = None,
    product: bool | Sequence[bool] = True,
    on_unit: bool | Sequence[bool] = True,
    bound_ns: Sequence[int | None] | None = None,
    at_most: bool | Sequence[bool] = False,
) -> WorkRows:
    """Return rows of work; None is unknown, and a type without a rate is NONE."""
    count = len(duration_ns)

    def column(values: Sequence[int | None] | None, default: int | np.int64) -> I64:
        if values is None:
            return np.full(count, default, np.int64)
        return np.array([MISSING if one is None else one for one in values], np.int64)

    names = types or ["bf16"] * count
    index = [RATE_TYPES.index(name) if name in RATE_TYPES else NONE for name in names]
    return WorkRows(
        flops=column(flops, MISSING),
        bytes=column(size, MISSING),
        type=np.array(index, np.int8),
        product=np.broadcast_to(np.array(product), count).copy(),
        on_unit=np.broadcast_to(np.array(on_unit), count).copy(),
        duration_ns=np.array(duration_ns, np.int64),
        bound_ns=column(bound_ns, 0),
        at_most=np.broadcast_to(np.array(at_most), count).copy(),
    )
