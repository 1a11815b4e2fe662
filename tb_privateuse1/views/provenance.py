"""Provenance: where a result's figures come from. Files, findings, time window and version."""

from __future__ import annotations

from msgspec import Struct, field

from tb_privateuse1.analysis.recording.window import Window, WindowFacts
from tb_privateuse1.storage import disk_cache
from tb_privateuse1.trace import device_times
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import Timeline, Trace
from tb_privateuse1.trace.version import VERSION


class Provenance(Struct, frozen=True):
    """The sources of a result's figures; part of every result."""

    timeline: Timeline
    """``measured`` by a device profiler, ``inferred`` from elapsed times, or ``none``: no device
    times at all."""
    missing_streams: tuple[str, ...]
    """The streams whose work has no times, while that of others has: sums of device times are lower
    bounds without an error bound, and idle times upper ones."""
    files: tuple[str, ...]
    warnings: tuple[Finding, ...]
    version: str = VERSION
    build: str = field(default_factory=disk_cache.build_digest)
    """A digest of the program's sources: the same build gives the same figures."""
    window: WindowFacts | None = None
    """The part of the recording that the figures are about; null where it is all of it, and of
    several recordings."""


def provenance(trace: Trace, window: Window | None = None) -> Provenance:
    """Return the provenance of a result that reads one trace."""
    meta = trace.meta
    missing = device_times.missing_streams(trace)
    facts = None if window is None else window.facts
    return Provenance(meta.timeline, missing, meta.files, meta.findings, window=facts)
