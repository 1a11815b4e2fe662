"""Read a window of a counter's curve: at most one value for each part of the window.

Curves are built once per trace. The cost of a window depends on its parts; for steps within it, one
look-up each, in blocks where they are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.columns import starts_run
from tb_privateuse1.trace.table import F64, I64

Unit = Literal["bytes", "bytes/s", "kernels", "kernels/ms", "share", ""]
"""The last one: that of the counter, which its name often says."""
What = Literal[
    "utilization",
    "sm_efficiency",
    "waiting",
    "rate",
    "data_loader",
    "copies",
    "communication",
    "memory",
    "recorded",
]

EXPORTED = 2000
"""Parts of a window in an export of a curve without a list of all changes."""

_DENSE = 0.5
"""The share of a window's parts in which a dense curve changes."""


class Points(Struct, frozen=True):
    """Values of a curve; each holds from its time on, in ns since the trace's start."""

    at_ns: F64
    value: F64
    bound: F64
    """The error bound of the value: 0 if measured, -1 if not known."""


class Form(Protocol):
    """The computation of a curve's values."""

    def of_parts(self, edges: I64) -> F64:
        """Return the value of each part; ``edges`` rise."""

    def all_changes(self) -> tuple[I64, NDArray[np.generic]] | None:
        """Return all times and values, or None if only parts have values."""


class Curve(Struct, frozen=True):
    """One counter of a trace."""

    name: str
    unit: Unit
    what: What
    form: Form
    inferred: bool = False
    limits: tuple[Form, Form] | None = None
    """The least and the greatest values of an inferred curve, if they are known."""

    @property
    def label(self) -> str:
        """The name, marked if inferred."""
        return say("{name} (inferred)", name=self.name) if self.inferred else self.name

    def window(self, start_ns: int, end_ns: int, parts: int) -> Points:
        """Return the curve in ``parts`` equal parts of a window, or one per ns of a shorter one.

        A part without a change has no entry of its own, nor has one before the first value.
        """
        parts = max(1, min(parts, end_ns - start_ns))
        edges = _edges(start_ns, max(end_ns, start_ns + 1), parts)
        value = self.form.of_parts(edges)
        bound = np.full(parts, -1.0 if self.inferred else 0.0)
        if self.limits:
            least, most = (form.of_parts(edges) for form in self.limits)
            bound = np.maximum(np.maximum(value - least, most - value), 0)
        new = starts_run(value, bound)
        new &= ~np.isnan(value)
        return Points(edges[:-1][new].astype(np.float64), value[new], bound[new])

    def changes(self, start_ns: int, end_ns: int | None) -> tuple[I64, NDArray[np.generic]] | None:
        """Return all changes within a window, and the value at its start.

        None for a curve that has values for parts only.
        """
        changes = self.form.all_changes()
        if changes is None:
            return None
        at_ns, value = changes
        first = max(int(np.searchsorted(at_ns, start_ns, side="right")) - 1, 0)
        until = len(at_ns) if end_ns is None else int(np.searchsorted(at_ns, end_ns))
        return np.maximum(at_ns[first:until], start_ns), value[first:until]

    def parts(self, start_ns: int, end_ns: int) -> tuple[I64, F64]:
        """Return the times and values of a window's parts for an export; shares in percent."""
        points = self.window(start_ns, end_ns, EXPORTED)
        return points.at_ns.astype(np.int64), points.value * (100 if self.unit == "share" else 1)


def _edges(start: int, end: int, parts: int) -> I64:
    """Return the edges of equal parts, rounded down to whole ns.

    Searching for floats is slower, and large times in float are not whole ns.
    """
    each, rest = divmod(end - start, parts)
    k = np.arange(parts + 1)
    return start + k * each + k * rest // parts


def windows(
    curves: Sequence[Curve], start_ns: int, stop_ns: int, parts: int, most: int
) -> list[Points]:
    """Return a window of each curve, with at most ``most`` entries in total.

    Each has as many parts; if all are too many, dense curves get fewer. A curve that changes in
    most parts of its share of the entries is assumed to do so in finer parts, too.
    """
    share = max(most // max(len(curves), 1), 1)
    if not curves or share >= parts:
        return [curve.window(start_ns, stop_ns, parts) for curve in curves]
    found = [curve.window(start_ns, stop_ns, share) for curve in curves]
    dense = np.array([len(points.at_ns) > _DENSE * share for points in found])
    for i in np.flatnonzero(~dense).tolist():
        found[i] = curves[i].window(start_ns, stop_ns, parts)
    sizes = np.where(dense, parts, [len(points.at_ns) for points in found])
    fewer = min(_fair(sizes, most), parts)
    for i in np.flatnonzero(dense & (fewer > share) | ~dense & (sizes > fewer)).tolist():
        found[i] = curves[i].window(start_ns, stop_ns, fewer)
    return found


def _fair(sizes: I64, most: int) -> int:
    """Return a limit of each size so that the limited sizes sum to at most ``most``; 1 or more."""
    rising = np.sort(sizes)
    left = np.arange(len(rising), 0, -1)
    limits = (most - (np.cumsum(rising) - rising)) // left
    fits = rising <= limits
    return int(rising.max(initial=1)) if fits.all() else max(int(limits[np.argmin(fits)]), 1)
