"""Divide each device's busy time by the families of its kernels, as curves that stack."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.counters import curve_values
from tb_privateuse1.analysis.kernel_names import read_name
from tb_privateuse1.analysis.operators import kinds_of_work
from tb_privateuse1.analysis.operators.groups import name_categories
from tb_privateuse1.trace import intervals, labels, uncertainty
from tb_privateuse1.trace.kernel_context import operator_names
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import KERNEL, MEMCPY, MEMSET, NONE, Kernels, Trace
from tb_privateuse1.trace.table import F64, I8, I64
from tb_privateuse1.trace.work_kinds import Kind

_UNSPECIFIC: tuple[Kind, ...] = ("other", "autograd", "view", "allocation")
"""Kinds of operators that do not say what their kernels do."""
_MOST_FAMILIES = 7
"""Of more the smallest are together: a summary of 32 px shows no more, and the palette has as many
colors."""
_SHARES, _SHARE_PARTS = 24_000, 1200
"""Of all device summaries of an answer together, and of each family: one for some 2 px."""


class Family(Struct, frozen=True):
    """The kernels of one kind of work on a device."""

    kind: Kind
    busy_ns: int
    form: curve_values.Share


class DeviceSummary(Struct, frozen=True):
    """One device's busy time; the families tile it, the longest first."""

    group_key: str
    """The group of its tracks (``Track.group_key``)."""
    inferred: bool
    families: tuple[Family, ...]

    def shares(self, start_ns: int, stop_ns: int, parts: int) -> F64:
        """Return by family and part of a window the share of busy time, 0 to 1: (families, parts).

        The window has at least ``parts`` ns.
        """
        edges = start_ns + (stop_ns - start_ns) * np.arange(parts + 1) // parts
        return np.stack([family.form.of_parts(edges) for family in self.families])


@memoize
def device_summaries(trace: Trace) -> tuple[DeviceSummary, ...]:
    """Return the summary of each device that ran anything, in the order of their numbers."""
    return tuple(_summaries(trace))


def _summaries(trace: Trace) -> Iterator[DeviceSummary]:
    kernels = trace.kernels
    kind = _kinds(trace)
    device = trace.lanes.device[kernels.lane]
    for one in np.unique(device).tolist():
        rows = np.flatnonzero(device == one)
        rows = rows[np.argsort(kernels.start_ns[rows], kind="stable")]
        group, _ = labels.lane(trace, int(kernels.lane[rows[0]]))
        own = kernels.take(rows)
        families = tuple(_families(own, kind[rows]))
        if families:
            yield DeviceSummary(str(group), not uncertainty.all_measured(own), families)


def _families(kernels: Kernels, kind: I8) -> Iterator[Family]:
    """Yield the families of a device's activities, which are in order of their starts.

    Time in which several run goes to the one that began first, so that the sum is the busy time.
    """
    start, end = _apart(kernels)
    other = kinds_of_work.KINDS.index("other")
    busy = np.bincount(kind, np.maximum(end - start, 0), len(kinds_of_work.KINDS))
    order = np.argsort(-busy, kind="stable")
    named = [i for i in order.tolist() if busy[i] and i != other]
    shown = named[: _MOST_FAMILIES - 1]
    for number in [*shown, other]:
        rows = ~np.isin(kind, shown) if number == other else kind == number
        covered = intervals.union(start[rows], end[rows])
        if len(covered[0]):
            form = curve_values.share(covered)
            yield Family(kinds_of_work.KINDS[number], intervals.length(covered), form)


def _apart(kernels: Kernels) -> tuple[I64, I64]:
    """Return the part of each activity in which none runs that began before it."""
    until = np.maximum.accumulate(kernels.end_ns)
    start = kernels.start_ns.copy()
    start[1:] = np.maximum(start[1:], until[:-1])
    return start, np.maximum(kernels.end_ns, start)


def _kinds(trace: Trace) -> I8:
    """Return the kind of work of each device activity, an index into ``KINDS``."""
    kernels = trace.kernels
    number = {kind: i for i, kind in enumerate(kinds_of_work.KINDS)}
    # As one number each: rows of pairs are sorted ten times as slowly.
    strings = len(trace.strings)
    pairs = kernels.name.astype(np.int64) * (strings + 1) + (operator_names(trace, kernels) - NONE)
    used, place = np.unique(pairs, return_inverse=True)
    of_operator = name_categories(trace)[used % (strings + 1) + NONE].tolist()
    of_pair = [
        number[_family(trace.text(pair // (strings + 1)), kinds_of_work.KINDS[kind])]
        for pair, kind in zip(used.tolist(), of_operator, strict=True)
    ]
    kind = np.array(of_pair, np.int8)[place]
    kind[(kernels.kind == MEMCPY) | (kernels.kind == MEMSET)] = number["copy"]
    kind[kernels.communication] = number["communication"]
    kind[~np.isin(kernels.kind, (KERNEL, MEMCPY, MEMSET)) & ~kernels.communication] = number[
        "other"
    ]
    return kind


def _family(name: str, of_operator: Kind) -> Kind:
    """Return the kind that a kernel's name says, else that of the operator that launched it."""
    said = read_name(name).family
    if said is not None and said not in _UNSPECIFIC:
        return said
    return "other" if of_operator in _UNSPECIFIC else of_operator


class Summary(Struct, frozen=True):
    """A device's busy time by family of kernels; the families tile it."""

    group_key: str
    """The group of the device's tracks."""
    inferred: bool
    families: tuple[Kind, ...]
    """Those of the whole recording with the most time first, ``other`` last."""
    busy_ns: tuple[int, ...]
    """Of each family, in the whole recording."""
    first: int
    """Its first entry in ``shares``: ``summary_parts`` for each family."""


def summary_window(
    trace: Trace, start: int, stop: int, parts: int
) -> tuple[tuple[Summary, ...], int, NDArray[np.int16]]:
    """Return the devices' summaries in a window, the number of their parts, and their shares.

    ``shares[summary.first + family * parts + part]`` is in thousandths, int16.
    """
    found = device_summaries(trace)
    rows = sum(len(one.families) for one in found)
    parts = max(1, min(parts, _SHARE_PARTS, _SHARES // max(rows, 1), stop - start))
    summaries, first = [], 0
    for one in found:
        kinds = tuple(family.kind for family in one.families)
        busy = tuple(family.busy_ns for family in one.families)
        summaries.append(Summary(one.group_key, one.inferred, kinds, busy, first))
        first += parts * len(kinds)
    shares = [one.shares(start, stop, parts).ravel() for one in found]
    whole = np.rint(1000 * np.concatenate([np.empty(0), *shares]))
    return tuple(summaries), parts, whole.astype(np.int16)
