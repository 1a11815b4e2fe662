"""Contents of a report: results of views, exactly as the pages have them, and their sources."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeVar

from msgspec import Struct

from tb_privateuse1.analysis.kernels.time_groups import By
from tb_privateuse1.analysis.steps.table import StepCounts
from tb_privateuse1.discovery.catalog import Catalog, Span
from tb_privateuse1.discovery.file import File, has_own_file, open_file, printable
from tb_privateuse1.discovery.workers import stamp_ns
from tb_privateuse1.i18n import Text, say
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.isolation import Failure, isolate
from tb_privateuse1.trace.version import VERSION
from tb_privateuse1.views.advice import AdviceTable
from tb_privateuse1.views.diff import Diff
from tb_privateuse1.views.distributed import Distributed
from tb_privateuse1.views.lookups.hotspots import Hotspots
from tb_privateuse1.views.method import Method
from tb_privateuse1.views.overview import Overview
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, Selection, view_named
from tb_privateuse1.views.roofline import Roofline

_T = TypeVar("_T")

_ROWS = 12
"""Rows of a table of hotspots, and of one of changes."""
_POINTS = 60
"""Points of the roofline."""
_STEPS = 5_000
"""The most that an overview lists; a report in which they have no room lists fewer."""
_STEPS_OF_RANKS = 0
"""The report shows ranks, not their single steps and collectives."""
_CHANGED = ("operators", "kernels", "modules")


class SourceFile(Struct, frozen=True):
    """A file that the report was made of."""

    name: str
    bytes: int
    sha256: str | None
    """Null of a file that is behind a URL or in an archive."""


class ReportPlace(Struct, frozen=True):
    """The trace of a report, and what else its run has."""

    run: str
    rank: int
    ranks: tuple[int, ...]
    """All ranks of the run."""
    span: int
    spans: int
    """How many recordings the rank has."""
    recorded_ns: int | None
    """Unix time in the file's name; null without one."""
    written_ns: int | None
    """Unix time of the file's last change; null if a remote filesystem does not have it."""
    files: tuple[SourceFile, ...]


class HotspotTable(Struct, frozen=True):
    """The hotspots by one group."""

    by: By
    result: Hotspots


ReportPart = Literal["summary", "ranks", "time", "roofline", "timeline", "issues", "recording"]
"""The parts of a report that may fail each by itself; a diff has a summary alone."""

_NAMES: dict[ReportPart, Text] = {
    "summary": say("The summary"),
    "ranks": say("The comparison of ranks"),
    "time": say("A table of time"),
    "roofline": say("The roofline"),
    "timeline": say("The timeline"),
    "issues": say("The list of findings"),
    "recording": say("The method of device times"),
}


class PartFailure(Struct, frozen=True):
    """A part of the report that could not be computed, or a table of it."""

    part: ReportPart
    finding: Finding


class TraceReport(Struct, frozen=True):
    """The results of one trace; null where a view failed."""

    place: ReportPlace
    overview: Overview | None
    step_counts: StepCounts | None
    advice: AdviceTable | None
    hotspots: tuple[HotspotTable, ...]
    """By each of the groups that the recording has names for."""
    roofline: Roofline | None
    """Null also without device times."""
    method: Method | None
    distributed: Distributed | None
    """Null also for a run of one rank."""
    failures: tuple[PartFailure, ...]


class DiffReport(Struct, frozen=True):
    """The comparison of two traces."""

    place: ReportPlace
    base: ReportPlace
    diffs: tuple[Diff, ...]
    """By operator, kernel and module."""
    failures: tuple[PartFailure, ...]


class Report(Struct, frozen=True):
    """A report: of a trace, or of a diff."""

    title: str
    version: str
    made_ns: int
    """Unix time."""
    command: str
    """Makes the report again."""
    trace: TraceReport | None
    diff: DiffReport | None


def trace_report(reader: Reader, catalog: Catalog, selection: Selection, command: str) -> Report:
    """Return the report of a trace of the reader's catalog. Raises TraceError."""
    where = find_place(catalog, selection)
    selected = Selection(where.run, where.rank, where.span)

    def run(name: str, **options: Any) -> Any:
        return reader.run(Request(view_named(name), selected, options=options))

    failures: list[PartFailure] = []

    def part(part: ReportPart, name: str, **options: Any) -> Any:
        return attempt(part, lambda: run(name, **options), failures)

    overview: Overview | None = part("summary", "overview", limit=_STEPS)
    groups: Hotspots | None = part("time", "hotspots", limit=0)
    names: tuple[By, ...] = groups.groups if groups else ()
    tables = {by: part("time", "hotspots", by=by, limit=_ROWS) for by in names}
    is_timed = overview is None or overview.provenance.timeline != "none"
    found = TraceReport(
        place=where,
        overview=overview,
        step_counts=overview.step_counts if overview else None,
        advice=part("issues", "advice"),
        hotspots=tuple(HotspotTable(by, table) for by, table in tables.items() if table),
        roofline=part("roofline", "roofline", limit=_POINTS) if is_timed else None,
        method=part("recording", "method"),
        distributed=part("ranks", "distributed", limit=_STEPS_OF_RANKS)
        if len(where.ranks) > 1
        else None,
        failures=tuple(failures),
    )
    return Report(_title(where), VERSION, time.time_ns(), command, found, None)


def diff_report(
    reader: Reader,
    catalog: Catalog,
    selection: Selection,
    base_catalog: Catalog,
    base_selection: Selection,
    command: str,
) -> Report:
    """Return the report of the change from a base to a trace; ``reader`` reads both catalogs.

    Raises TraceError.
    """
    where, before = find_place(catalog, selection), find_place(base_catalog, base_selection)
    here = Selection(where.run, where.rank, where.span)
    there = Selection(before.run, before.rank, before.span)
    diff = view_named("diff")
    failures: list[PartFailure] = []
    requests = [Request(diff, here, there, {"by": by, "limit": _ROWS}) for by in _CHANGED]
    results = [attempt("summary", partial(reader.run, one), failures) for one in requests]
    diffs = tuple(one for one in results if one is not None)
    found = DiffReport(place=where, base=before, diffs=diffs, failures=tuple(failures))
    title = f"{_title(before)} → {_title(where)}"
    return Report(title, VERSION, time.time_ns(), command, None, found)


def attempt(part: ReportPart, work: Callable[[], _T], failures: list[PartFailure]) -> _T | None:
    """Return what a part's work returns; None, and add to the failures, if it fails."""
    found = isolate(_NAMES[part], work)
    if isinstance(found, Failure):
        failures.append(PartFailure(part, found.finding()))
        return None
    return found


def find_place(catalog: Catalog, selection: Selection) -> ReportPlace:
    """Return what a selection selects. Raises TraceError for what does not exist."""
    files = catalog.find(selection.run, selection.rank, selection.span)
    name, rank, span = next(key for key, value in catalog.files.items() if value == files)
    run = next(run for run in catalog.runs.runs if run.run == name)
    worker = next(worker for worker in run.workers if worker.rank == rank)
    recording = next(one for one in worker.spans if one.span == span)
    return ReportPlace(
        run=name,
        rank=rank,
        ranks=tuple(sorted(worker.rank for worker in run.workers)),
        span=span,
        spans=len(worker.spans),
        recorded_ns=_recorded_ns(recording),
        written_ns=recording.modified_ns,
        files=tuple(map(_source, files.own)),
    )


def _title(where: ReportPlace) -> str:
    return where.run if where.run not in (".", "") or not where.files else where.files[0].name


_CALENDAR = (14, 17)
"""Digits of a stamp in the recording machine's own time zone, which is not known."""


def _recorded_ns(span: Span) -> int | None:
    is_unix = re.fullmatch(r"\d+", span.label, re.ASCII) and len(span.label) not in _CALENDAR
    return stamp_ns(span.label) if is_unix else None


_BLOCK_BYTES = 1 << 20


def _source(file: File) -> SourceFile:
    digest = None
    if has_own_file(file.path):
        found = hashlib.sha256()
        with open_file(file.path) as content:
            while block := content.read(_BLOCK_BYTES):
                found.update(block)
        digest = found.hexdigest()
    return SourceFile(printable(file.name), file.size, digest)
