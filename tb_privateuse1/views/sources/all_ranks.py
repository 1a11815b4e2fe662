"""The inputs of a view of all ranks: one span of a run, each trace reduced to its part."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Hashable

from msgspec import Struct

from tb_privateuse1.analysis.ranks.collectives import reduce_trace
from tb_privateuse1.discovery.catalog import Catalog, Worker
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.i18n import say
from tb_privateuse1.storage import part_groups
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.views.computations import Report
from tb_privateuse1.views.reduced_traces import Rank
from tb_privateuse1.views.request import Request, Selection
from tb_privateuse1.views.shared_options import chosen_ranks
from tb_privateuse1.views.signature import reduction_of
from tb_privateuse1.views.sources import Source, await_run
from tb_privateuse1.views.sources.trace_parts import Parts, Reduction, sum_progress

_AT_A_TIME = 256
"""Ranks that are read at a time: each that waits is asked for again in turn."""

_Member = tuple[Worker, TraceFiles | None]
"""A worker of a run with its files of one span, if it has that span."""


class RankInputs(Struct, frozen=True, dict=True):
    """The workers of a run."""

    parts: Parts
    reduce: Reduction
    members: tuple[_Member, ...]
    place: Hashable
    """What was asked for: run, span and ranks."""
    keeps_deadline: bool = False

    @functools.cached_property
    def files(self) -> tuple[TraceFiles, ...]:
        """Return the files of its ranks."""
        return tuple(files for _, files in self.members if files is not None)

    @functools.cached_property
    def key(self) -> Hashable:
        """Return the ranks by number and name, and which of them have the span."""
        return tuple((w.rank, w.worker, files is None) for w, files in self.members)

    def open(self, report: Report) -> tuple[tuple[Rank, ...]]:
        """Return the ranks in the order of their numbers."""
        traces = self.files
        groups = _groups(traces) if self.reduce is reduce_trace else []
        apart = []
        for done, group in enumerate(groups):
            report(sum_progress((), done * part_groups.RANKS, len(traces)))
            if not self.parts.open_group(group):
                apart.append(group)
        parts = self.parts.reduce_all(self.reduce, traces, report, at_a_time=_AT_A_TIME)
        for group in apart:
            self.parts.keep_group(group)
        absent = None, Finding("unknown_span", say("It has no such span."))
        ranks = {
            worker.rank: Rank(
                worker.rank, worker.worker, *(absent if files is None else parts[files])
            )
            for worker, files in self.members
        }
        in_order = tuple(ranks[rank] for rank in sorted(ranks))
        return (self.parts.as_before((self.reduce, self.place), in_order, self.reduce, traces),)


def keep_groups(store: Store, catalog: Catalog) -> None:
    """Store the groups of all runs whose parts are stored: what the first page would do."""
    for run in catalog.runs.runs:
        for span in sorted({one.span for worker in run.workers for one in worker.spans}):
            members = _members(catalog, Selection(run.run, span=span), None)
            for group in _groups(tuple(files for _, files in members if files is not None)):
                _keep_group(store, group)


def _keep_group(store: Store, group: tuple[TraceFiles, ...]) -> None:
    if part_groups.find_group(group, store.cache_dir, store.vendors):
        return
    parts = []
    with contextlib.suppress(TraceError):  # one is gone: the others have parts of their own
        for files in group:
            if (part := store.stored_part(files)) is None:
                return
            parts.append(part)
        part_groups.keep_group(group, parts, store.cache_dir, store.vendors)


def find_ranks(source: Source, request: Request) -> RankInputs:
    """Look up the traces of one span of a run.

    Raises TraceError ``unknown_run`` or, if no worker has the span, ``unknown_span``.
    """
    selection, only = request.selection, chosen_ranks(request.options.get("only"))
    catalog = await_run(source.catalog, selection.run, request.deadline_s)
    parts, reduce = source.parts, reduction_of(request.view)

    def look_up() -> RankInputs:
        return RankInputs(parts, reduce, _members(catalog, selection, only), (selection, only))

    return parts.looked_up.find(catalog, (reduce, selection, only), look_up)


def _members(
    catalog: Catalog, selection: Selection, only: frozenset[int] | None
) -> tuple[_Member, ...]:
    """Return the workers with their files of one span, by default the latest of any.

    ``only`` has the ranks to return.
    """
    catalog.find(selection.run)
    run = next(r for r in catalog.runs.runs if selection.run in (None, r.run))
    numbers = sorted({s.span for worker in run.workers for s in worker.spans})
    span = numbers[-1] if selection.span is None else selection.span
    if span not in numbers:
        have = ", ".join(map(str, numbers))
        raise TraceError(
            "unknown_span",
            say("There is no span {wanted}.", wanted=span),
            say("There is: {have}.", have=have),
        )
    return tuple(
        (worker, catalog.files.get((run.run, worker.rank, span)))
        for worker in run.workers
        if only is None or worker.rank in only
    )


def _groups(traces: tuple[TraceFiles, ...]) -> list[tuple[TraceFiles, ...]]:
    """Return the traces in groups; none of a run that is no larger than a group."""
    each = part_groups.RANKS
    starts = range(0, len(traces), each) if len(traces) > each else ()
    return [traces[at : at + each] for at in starts]
