"""The activities of one row of the kernel table: each with its place, and how long they take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tb_privateuse1 import kernelgroups
from tb_privateuse1.kernelgroups import Group
from tb_privateuse1.lookups.base import Item, check, item
from tb_privateuse1.pyramid import Pyramid
from tb_privateuse1.trace import I64, Trace, TraceError

_MOST = 1000
_BINS_PER_OCTAVE = 4


@dataclass(frozen=True)
class Bin:
    """Activities that took at least ``low_ns`` and less than ``high_ns``."""

    low_ns: int
    high_ns: int
    calls: int


@dataclass(frozen=True)
class Instances:
    """The result of the lookup."""

    name: str
    calls: int
    items: tuple[Item, ...]
    histogram: tuple[Bin, ...]
    """From the shortest to the longest, each about a fifth wider than the one before."""


def instances(
    trace: Trace,
    pyramid: Pyramid,
    *,
    index: int = 0,
    group: Group = "operator",
    step: int | None = None,
    order: Literal["duration", "time"] = "duration",
    limit: int = 100,
    offset: int = 0,
) -> Instances:
    """The activities that are in one row of the kernel table with this activity.

    ``step`` is a row of ``trace.steps``. The longest first, or in the order of time. Raises
    TraceError ``bad_option``.
    """
    if not len(trace.kernels):
        return Instances("", 0, (), ())
    check(trace, "kernels", index)
    if limit < 0 or offset < 0 or not (step is None or 0 <= step < len(trace.steps)):
        raise TraceError("bad_option", "limit, offset and step must be at least 0.")
    kernels = trace.kernels
    _, member = kernelgroups.groups(trace, kernels, group)
    same = member == member[index]
    if step is not None:
        same &= kernels.step == step
    rows = np.flatnonzero(same)
    duration = kernels.end_ns[rows] - kernels.start_ns[rows]
    if order == "duration":
        rows = rows[np.argsort(-duration, kind="stable")]
    page = rows[offset : offset + min(limit, _MOST)]
    return Instances(
        name=trace.text(kernels.name[index]),
        calls=len(rows),
        items=tuple(item(trace, pyramid, "kernels", row) for row in page),
        histogram=_histogram(duration),
    )


def _histogram(duration: I64) -> tuple[Bin, ...]:
    """Logarithmic bins from the shortest to the longest; one if all took equally long."""
    if not len(duration):
        return ()
    least, most = max(int(duration.min()), 1), int(duration.max())
    octaves = np.log2(max(most, 1) / least)
    count = max(1, round(float(octaves) * _BINS_PER_OCTAVE))
    inner = np.exp2(np.log2(least) + np.arange(1, count) * (octaves / count))
    edges = np.unique(np.concatenate(([int(duration.min())], np.ceil(inner), [most + 1])))
    calls, _ = np.histogram(duration, edges)
    whole = edges.astype(np.int64).tolist()
    return tuple(
        Bin(a, b, n) for a, b, n in zip(whole[:-1], whole[1:], calls.tolist(), strict=True)
    )
