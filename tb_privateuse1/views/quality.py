"""Data quality: the findings of reading, worst first, and the file's contents."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.steps import breakdown
from tb_privateuse1.trace import device_times, labels
from tb_privateuse1.trace.accuracy import MEANINGS
from tb_privateuse1.trace.findings import SEVERITIES, Finding
from tb_privateuse1.trace.model import Kernels, Trace
from tb_privateuse1.trace.table import Table
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import StepOption, chosen_window


class Category(Struct, frozen=True):
    """The events of one category, as the file spells it."""

    name: str
    events: int


class Extent(Struct, frozen=True):
    """From the first start to the last end of what the host did, or the device."""

    start_ns: int
    end_ns: int


class AccuracyClass(Struct, frozen=True):
    """The backend's class from A to E, what it means, and when the conformance kit found it."""

    letter: str
    meaning: str
    checked: str
    reason: str | None
    """Why it is no better, in the kit's words; null for the best, and where an older kit ran."""


class Quality(Result, frozen=True):
    """The result of the view. Null: no device times."""

    provenance: Provenance
    """Its warnings are the rows."""
    rows: tuple[Finding, ...]
    errors: int
    warnings: int
    notes: int
    """Findings of severity ``info``."""
    events: int
    categories: tuple[Category, ...]
    """Most events first."""
    size_bytes: int | None
    """Of the trace file, packed if it is; null where it was not read from a file."""
    duration_ns: int
    host: Extent | None
    device: Extent | None
    activities: int | None
    linked: int | None
    linked_share: float | None
    device_ns: int | None
    unlinked_ns: int | None
    unlinked_share: float | None
    unlinked_device_ns: int | None
    accuracy: AccuracyClass | None
    """Null: the conformance kit was not run for the backend before the recording."""
    facts: tuple[labels.Fact, ...]


def quality(trace: Trace, *, step: StepOption = None) -> Quality:
    """Findings by severity, then in the order of the pipeline; the file's contents and links.

    ``step`` limits the links to the activities of one step. Raises TraceError ``unknown_step``.
    """
    meta = trace.meta
    window = chosen_window(trace, step, "all")
    kernels = trace.kernels.take(window.kernels)
    rows = sorted(meta.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    count = {s: sum(f.severity == s for f in rows) for s in SEVERITIES}
    any_device = len(trace.kernels) > 0
    linked = breakdown.linked_activities(trace, kernels)
    whole, lost = _time(kernels), _time(kernels.take(~linked))
    return Quality(
        provenance=replace(provenance(trace, window), warnings=()),
        rows=tuple(rows),
        errors=count["error"],
        warnings=count["warning"],
        notes=count["info"],
        events=sum(meta.events.values()),
        categories=tuple(Category(name, n) for name, n in meta.events.items()),
        size_bytes=meta.size_bytes,
        duration_ns=trace.end_ns,
        host=_extent(trace.ops, trace.frames, trace.launches),
        device=_extent(trace.kernels),
        activities=len(kernels) if any_device else None,
        linked=int(linked.sum()) if any_device else None,
        linked_share=float(linked.mean()) if len(linked) else None,
        device_ns=device_times.known_sum(trace, whole),
        unlinked_ns=device_times.known_sum(trace, lost),
        unlinked_share=lost / whole if whole else None,
        unlinked_device_ns=device_times.known_sum(trace, _time(kernels.take(kernels.op < 0))),
        accuracy=_accuracy(trace),
        facts=labels.run(trace),
    )


def _time(kernels: Kernels) -> int:
    return int((kernels.end_ns - kernels.start_ns).sum())


def _accuracy(trace: Trace) -> AccuracyClass | None:
    found = trace.meta.accuracy
    if found is None:
        return None
    is_best = found.letter == next(iter(MEANINGS))
    reason = None if is_best else found.reason
    return AccuracyClass(found.letter, MEANINGS[found.letter], found.checked, reason)


def _extent(*tables: Table) -> Extent | None:
    columns = [dict(table.columns()) for table in tables if len(table)]
    if not columns:
        return None
    start = min(int(np.min(c["start_ns"])) for c in columns)
    return Extent(start, max(int(np.max(c["end_ns"])) for c in columns))
