"""Curves over a trace's time, and what of one a window shows: at most a value for each part.

Prepared once per trace; a window of one costs what the screen can show (and for the steps that
lie within it one look each, in blocks where they are many).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.analysis.counters.curve_forms import Floats
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.table import I64

Unit = Literal["bytes", "bytes/s", "kernels", "kernels/ms", "share"]
What = Literal[
    "utilisation",
    "sm_efficiency",
    "waiting",
    "rate",
    "data_loader",
    "copies",
    "communication",
    "memory",
]

EXPORTED = 2000
"""Parts of a window that an export has of a curve of which it does not have all changes."""

_DENSE = 0.5
"""Of the parts of a window: in so many something changes."""


@dataclass(frozen=True)
class Points:
    """Each value holds from its time on, in ns since the trace's start."""

    at_ns: Floats
    value: Floats
    bound: Floats
    """How far off the value may be: 0 for what was measured, -1 where that is not known."""


class Form(Protocol):
    """How a curve makes values of what it knows."""

    def of_parts(self, edges: I64) -> Floats:
        """The value of each part between two edges, which rise."""

    def told(self) -> tuple[I64, NDArray[np.generic]] | None:
        """Its times and values, if it is nothing else than these."""


@dataclass(frozen=True)
class Curve:
    """One counter of a trace."""

    name: str
    unit: Unit
    what: What
    form: Form
    inferred: bool = False
    limits: tuple[Form, Form] | None = None
    """Of what is inferred: what it is at least and at most, if that is known."""

    @property
    def label(self) -> str:
        """Its name, which says where it is inferred."""
        return say("{name} (inferred)", name=self.name) if self.inferred else self.name

    def window(self, start_ns: int, end_ns: int, parts: int) -> Points:
        """The curve in ``parts`` equal parts of a window, or in as many as it has ns.

        A part in which nothing changes has no entry of its own.
        """
        parts = max(1, min(parts, end_ns - start_ns))
        edges = _edges(start_ns, max(end_ns, start_ns + 1), parts)
        value = self.form.of_parts(edges)
        bound = np.full(parts, -1.0 if self.inferred else 0.0)
        if self.limits:
            least, most = (form.of_parts(edges) for form in self.limits)
            bound = np.maximum(np.maximum(value - least, most - value), 0)
        new = np.append(True, (np.diff(value) != 0) | (np.diff(bound) != 0))
        return Points(edges[:-1][new].astype(np.float64), value[new], bound[new])

    def changes(self, start_ns: int, end_ns: int | None) -> tuple[I64, NDArray[np.generic]] | None:
        """All changes within a window, and what it was at its start; None of what has a value in
        parts only.
        """
        told = self.form.told()
        if told is None:
            return None
        at_ns, value = told
        first = max(int(np.searchsorted(at_ns, start_ns, side="right")) - 1, 0)
        until = len(at_ns) if end_ns is None else int(np.searchsorted(at_ns, end_ns))
        return np.maximum(at_ns[first:until], start_ns), value[first:until]

    def parts(self, start_ns: int, end_ns: int) -> tuple[I64, Floats]:
        """What an export has of it where it has not all changes; a share in per cent."""
        points = self.window(start_ns, end_ns, EXPORTED)
        return points.at_ns.astype(np.int64), points.value * (100 if self.unit == "share" else 1)


def _edges(start: int, end: int, parts: int) -> I64:
    """Equal parts, rounded down to whole ns: floats would have to be searched as such, and those
    of large times are no whole ns.
    """
    each, rest = divmod(end - start, parts)
    k = np.arange(parts + 1)
    return start + k * each + k * rest // parts


def windows(
    curves: Sequence[Curve], start_ns: int, stop_ns: int, parts: int, most: int
) -> list[Points]:
    """Of each its window, at most ``most`` entries of all together.

    Each has as many parts; those in which much changes have fewer if all are too many. What changes
    in most parts of its share of the entries is taken to do so in finer ones, too.
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
    """What the largest of these may be so that they sum to no more; at least 1."""
    rising = np.sort(sizes)
    left = np.arange(len(rising), 0, -1)
    limits = (most - (np.cumsum(rising) - rising)) // left
    fits = rising <= limits
    return int(rising.max(initial=1)) if fits.all() else max(int(limits[np.argmin(fits)]), 1)
