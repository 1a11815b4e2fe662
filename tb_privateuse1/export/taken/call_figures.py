"""The times and the work of recorded calls: medians over equal calls, with what is inside."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators import totals
from tb_privateuse1.analysis.roofs.rates import group_figures, modeled_time
from tb_privateuse1.analysis.work.operator_work import operator_work
from tb_privateuse1.trace import device_times, sum_bounds, uncertainty
from tb_privateuse1.trace.columns import lookup, mask_of, zero_if_missing
from tb_privateuse1.trace.groupby import outermost_calls, with_descendants
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools

_SOURCES = {
    "data_sheet": "the data sheet",
    "user_file": "the vendor file",
    "best_seen": "the best rate of the recording",
    "mixed": "the data sheet and the best rate of the recording",
}


class Recorded(Struct, frozen=True):
    """Equal calls in the recording: medians, with all operators inside of them."""

    name: str
    """Of the device, or of its backend."""
    calls: int
    host_ns: int
    host_least_ns: int
    """Of the shortest call, which other programs of the machine delayed least."""
    device_ns: int | None
    """Null without device activities."""
    device_bound_ns: int | None
    """How far off ``device_ns`` may be; 0 if it was measured, null if that is not known."""
    timeline: Literal["measured", "inferred", "none"]
    torch: str | None


class CallWork(Struct, frozen=True):
    """The work of one call and its least time on the recorded device; null where unknown."""

    flops: int | None
    bytes: int | None
    roof_ns: int | None
    roof_source: str | None


class CallFigures:
    """The figures of calls of one trace: what all of them need is computed once."""

    def __init__(self, trace: Trace) -> None:
        kernels, parent = trace.kernels, trace.ops.parent
        self._trace = trace
        self._launcher = lookup(outermost_calls(trace.ops), kernels.op, NONE)
        self._device_ns = with_descendants(parent, totals.own(trace).device_ns)
        self._bound_ns = sum_bounds.tree_bounds(
            parent, self._launcher, kernels.duration_bound_ns, kernels.error_group
        )
        work = operator_work(trace)
        self._flops = with_descendants(parent, zero_if_missing(work.flops))
        moved = zero_if_missing(work.read_bytes) + zero_if_missing(work.written_bytes)
        self._bytes = with_descendants(parent, moved)

    def recorded(self, rows: I64) -> Recorded:
        """Return the times of equal calls, rows of ``trace.ops``."""
        ops, meta = self._trace.ops, self._trace.meta
        device, bounds = self._device_ns[rows], self._bound_ns[rows]
        host_ns = ops.end_ns[rows] - ops.start_ns[rows]
        known = bool(device.any())
        bound = uncertainty.bound_of(np.median, device, bounds) if known else None
        names = (str(device.get("name") or "") for device in meta.devices)
        return Recorded(
            name=next(filter(None, names), meta.backend or "CPU") if known else "CPU",
            calls=len(rows),
            host_ns=round(np.median(host_ns)),
            host_least_ns=int(host_ns.min()),
            device_ns=round(np.median(device)) if known else None,
            device_bound_ns=device_times.known_bound(self._trace, bound),
            timeline=meta.timeline,
            torch=meta.torch_version,
        )

    def work(self, rows: I64) -> CallWork:
        """Return the work of one of them."""
        flops, moved = int(self._flops[rows[0]]), int(self._bytes[rows[0]])
        inside = self._kernels_inside(rows)
        (figures,) = group_figures(self._trace, np.where(inside, 0, NONE).astype(np.int64), 1)
        roof, source = None, None
        if figures.attainable_ns is not None and figures.roofed_share == 1:
            roof = round(figures.attainable_ns / len(rows))
            source = self._source(inside)
        return CallWork(flops or None, moved or None, roof if source else None, source)

    def _source(self, inside: Bools) -> str | None:
        modeled = modeled_time(self._trace, inside)
        found = {one for one in (modeled.compute_source, modeled.memory_source) if one is not None}
        return _SOURCES["mixed" if len(found) > 1 else found.pop()] if found else None

    def _kernels_inside(self, rows: I64) -> Bools:
        """Return which device activities calls launched, by the operators inside of them too."""
        parent = self._trace.ops.parent
        chosen = mask_of(rows, len(parent))
        inside = np.zeros(len(self._launcher), np.bool_)
        left = np.flatnonzero(self._launcher >= 0)
        at = self._launcher[left]
        while len(left):
            found = chosen[at]
            inside[left[found]] = True
            at = parent[at]
            left, at = left[~found & (at >= 0)], at[~found & (at >= 0)]
        return inside
