"""Run a request: look its traces up, open them, and call the view with what it reads.

Most views read one trace. ``base`` is a second one to compare with. ``ranks`` is all ranks of a
span: each trace is reduced as soon as it is open, so that a thousand ranks need the memory of one.
``recordings`` is those of a logdir, reduced as well: the answer has what is ready by the deadline.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.analysis.ranks.collectives import RankPart, reduce_trace
from tb_privateuse1.discovery.catalog import Catalog, Worker
from tb_privateuse1.discovery.file import printable
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.i18n import say
from tb_privateuse1.storage import derived, part_groups
from tb_privateuse1.storage.jobs import Pending, Phase, Progress, canceled_error
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.isolation import Failure, isolate
from tb_privateuse1.trace.memory_budget import BUDGET, MemoryBudget
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.computations import Computations, Report, Turns, open_trace
from tb_privateuse1.views.request import Request, Selection
from tb_privateuse1.views.signature import is_heavy, reads_of, reduction_of
from tb_privateuse1.views.view_inputs import Rank, RunRecording, chosen_ranks

if TYPE_CHECKING:
    from tb_privateuse1.advice.rules.rule import Rule

_T = TypeVar("_T")

_SHARE_S = 0.02
_HEAVY_AT_A_TIME = 2
_READ_AT_A_TIME = 4  # of a logdir's recordings: more would only wait for each other
_RANKS_AT_A_TIME = 256
"""Of a run's ranks: each that waits is asked for again in turn."""
_UPDATE_S = 0.1
"""How often the progress of all ranks is summed."""

_Key = tuple[Callable[[Trace], Any], TraceFiles]
"""A reduction and its trace: views may share one."""

_Part = tuple[Any, Finding | None]
"""The reduction of a trace, or why there is none."""

_Member = tuple[Worker, TraceFiles | None]
"""A worker of a run with its files of one span, if it has that span."""


class _RanksKey(Struct, frozen=True):
    """The key of a computation that reads all ranks of a run."""

    view: Callable[..., Any]
    ranks: tuple[tuple[int, str, TraceFiles | None], ...]
    options: str

    @property
    def files(self) -> frozenset[TraceFiles]:
        """Return the files of its ranks."""
        return frozenset(own for _, _, own in self.ranks if own is not None)

    def __hash__(self) -> int:
        # Each poll looks it up: the files of ten thousand ranks would take 0.2 s each time.
        return hash((self.view, len(self.ranks), self.options))


class Reader:
    """Runs requests on the traces of ``catalog``. Its methods may be called from any thread.

    ``rules`` returns the rules for views that read ``rules``. ``base_catalog`` has the traces to
    compare with, by default those of ``catalog``.
    """

    def __init__(
        self,
        store: Store,
        catalog: Catalog | Scanner,
        rules: Callable[[], Sequence[Rule]] = lambda: tuple(RULES.values()),
        *,
        base_catalog: Catalog | Scanner | None = None,
        memory: MemoryBudget = BUDGET,
    ) -> None:
        self._store = store
        self.catalog = catalog
        self._rules = rules
        self._base_catalog = base_catalog
        self._memory = memory
        self._computations = Computations()
        self._heavy = Turns(_HEAVY_AT_A_TIME)

    def run(self, request: Request) -> Any:
        """Return the view's result; equal requests at the same time share one computation.

        Raises TraceError, or Pending if it takes longer than the request's deadline.
        """
        if request.reads == ("ranks",):
            return self._run_ranks(request)
        if request.reads == ("recordings",):
            return self._run_recordings(request)
        files = [self.find(request.selection, request.deadline_s)]
        if "base" in request.reads:
            base = request.selection if request.base is None else request.base
            files.append(_find(self._base_catalog or self.catalog, base, request.deadline_s))
        rules = self._rules() if "rules" in request.reads else ()
        view, options = request.view, request.options

        def work(report: Report) -> Any:
            first, *others = (open_trace(self._store, one, report) for one in files)
            if others:
                return view(first, *others, **options)
            if "files" in request.reads:
                return view(self._store, *files, **options)
            with self._heavy.turn(report) if is_heavy(view) else contextlib.nullcontext():
                return run_view(view, first, options, rules)

        key = view, tuple(files), rules, repr(options)
        return self._computations.run(key, work, _seconds_left(request.deadline_s))

    def find(self, selection: Selection, deadline_s: float | None = None) -> TraceFiles:
        """Return the files of a trace. Raises TraceError, or Pending during the first scan."""
        return _find(self.catalog, selection, deadline_s)

    def use_trace(
        self,
        files: TraceFiles,
        use: Callable[[Trace], _T],
        deadline_s: float | None,
        *key: Hashable,
    ) -> _T:
        """Return what ``use`` makes of a trace, once for all callers with the same key.

        Raises what ``use`` raises, TraceError, or Pending.
        """

        def work(report: Report) -> _T:
            return use(open_trace(self._store, files, report))

        return self._computations.run((files, *key), work, _seconds_left(deadline_s))

    def cancel(self, files: TraceFiles) -> bool:
        """Cancel the reading of a trace and computations on it; return whether there were any.

        Their waiting callers get TraceError ``canceled``. Ranks that are read only for a view of
        all ranks are canceled, too.
        """
        ended = self._computations.cancel(lambda key: _is_of(key, files), canceled_error(files))
        was_read = self._store.cancel(files)
        for key in ended:
            if isinstance(key, _RanksKey):
                for own in key.files:
                    self._store.cancel(own, parts=True)
        return was_read or bool(ended)

    def _run_ranks(self, request: Request) -> Any:
        view, options, selection = request.view, request.options, request.selection
        only = chosen_ranks(options.get("only"))
        catalog = _await_run(self.catalog, selection.run, request.deadline_s)
        members = _members(catalog, selection, only)

        def work(report: Report) -> Any:
            return view(self._ranks(reduction_of(view), members, report), **options)

        ranks = tuple((worker.rank, worker.worker, files) for worker, files in members)
        key = _RanksKey(view, ranks, repr(options))
        return self._computations.run(key, work, _seconds_left(request.deadline_s))

    def _ranks(
        self, reduce: Callable[[Trace], Any], members: Sequence[_Member], report: Report
    ) -> tuple[Rank, ...]:
        groups = _groups(members) if reduce is reduce_trace else []
        apart = []
        for done, group in enumerate(groups):
            report(_together((), done * part_groups.RANKS, len(members)))
            if not self._open_group(group):
                apart.append(group)
        ranks: dict[int, Rank] = {}
        pending: dict[int, Progress] = {}
        left, progress, updated_s = list(members), _together((), 0, len(members)), 0.0
        while left:
            waiting: list[_Member] = []
            for place, (worker, files) in enumerate(left):
                if len(waiting) == _RANKS_AT_A_TIME:
                    waiting += left[place:]
                    break
                if time.monotonic() - updated_s > _UPDATE_S:
                    progress = _together(pending.values(), len(ranks), len(members))
                    updated_s = time.monotonic()
                report(replace(progress, traces_done=len(ranks)))
                try:
                    ranks[worker.rank] = self._rank(reduce, worker, files)
                    pending.pop(worker.rank, None)
                except Pending as error:
                    pending[worker.rank] = error.progress
                    waiting.append((worker, files))
            left = waiting
        report(_together((), len(ranks), len(members)))
        for group in apart:
            self._keep_group(group)
        return tuple(ranks[rank] for rank in sorted(ranks))

    def _open_group(self, group: Sequence[TraceFiles]) -> bool:
        """Open the parts of a group that is stored; whether all of them are in memory now."""
        if all(self._memory.find(self, (reduce_trace, files)) for files in group):
            return True
        parts = part_groups.find_group(group, self._store.cache_dir, self._store.vendors)
        for files, part in zip(group, parts, strict=bool(parts)):
            made = functools.partial(_same, part)
            self._memory.compute(self, (reduce_trace, files), made, goes_last=True)
        return bool(parts)

    def _keep_group(self, group: Sequence[TraceFiles]) -> None:
        parts = [self._memory.find(self, (reduce_trace, files)) for files in group]
        if None not in parts:  # one may have a problem
            part_groups.keep_group(group, parts, self._store.cache_dir, self._store.vendors)

    def _rank(
        self, reduce: Callable[[Trace], Any], worker: Worker, files: TraceFiles | None
    ) -> Rank:
        """Raise Pending unless the trace is open or reduced already."""
        if files is None:
            finding = Finding("unknown_span", say("It has no such span."))
            return Rank(worker.rank, worker.worker, None, finding)
        return Rank(worker.rank, worker.worker, *self._part(reduce, files))

    def _run_recordings(self, request: Request) -> Any:
        """Return the view of what is reduced by the deadline; without one, of everything."""
        view, options = request.view, request.options
        catalog = _await_run(self.catalog, None, request.deadline_s)
        members = _recordings(catalog, options.get("matching"))
        latest_first = [files for _, files in reversed(members)]
        parts = self._parts_until(reduction_of(view), latest_first, request.deadline_s)
        reduced = (
            replace(recording, part=part, problem=problem)
            for recording, files in members
            for part, problem in [parts.get(files, (None, None))]
        )
        return view(tuple(reduced), **options)

    def _parts_until(
        self,
        reduce: Callable[[Trace], Any],
        traces: Sequence[TraceFiles],
        deadline_s: float | None,
    ) -> dict[TraceFiles, _Part]:
        """Return what was reduced before, and what is by the deadline, in the order of traces."""
        known = {files: self._memory.find(self, (reduce, files)) for files in traces}
        parts: dict[TraceFiles, _Part] = {
            files: (part, None) for files, part in known.items() if part is not None
        }
        while len(parts) < len(traces):
            waiting = 0
            for files in traces:
                if files in parts or waiting == _READ_AT_A_TIME:
                    continue
                if _seconds_left(deadline_s) == 0:
                    return parts
                try:
                    parts[files] = self._part(reduce, files)
                except Pending:
                    waiting += 1
        return parts

    def _part(self, reduce: Callable[[Trace], Any], files: TraceFiles) -> _Part:
        """Return the reduction of a trace, or why there is none; raises Pending."""
        key = (reduce, files)  # with size and time of change: another file is another part
        try:
            part = isolate(
                printable(files.trace.name),
                lambda: self._memory.compute(self, key, lambda: self._read(key), goes_last=True),
            )
        except TraceError as error:
            return None, Finding(error.code, error.message, error.hint)
        return (None, part.finding()) if isinstance(part, Failure) else (part, None)

    def _read(self, key: _Key) -> Any:
        # A short wait for each trace in turn: waiting for the first one would starve the others.
        reduce, files = key
        if reduce is reduce_trace:  # which is stored
            return self._store.part(files, _SHARE_S)
        return reduce(self._store.trace(files, _SHARE_S))


def run_view(
    view: Callable[..., Any],
    trace: Trace,
    options: Mapping[str, Any],
    rules: Sequence[Rule] | None = None,
) -> Any:
    """Return the result of a view that reads one trace, data derived from it, or rules.

    ``rules``: by default the built-in ones.
    """
    data = derived.derive(trace)
    inputs = [rules if name == "rules" else getattr(data, name) for name in reads_of(view)]
    return view(*inputs, **options)


def _seconds_left(deadline_s: float | None) -> float | None:
    return None if deadline_s is None else max(deadline_s - time.monotonic(), 0.0)


def _await_run(catalog: Catalog | Scanner, run: str | None, deadline_s: float | None) -> Catalog:
    if isinstance(catalog, Catalog):
        return catalog
    try:
        return catalog.await_run(run, _seconds_left(deadline_s))
    except TraceError as error:
        if error.code == "scanning":
            raise Pending(Progress("waiting", 0, 0, 0, None)) from error
        raise


def _find(catalog: Catalog | Scanner, selection: Selection, deadline_s: float | None) -> TraceFiles:
    found = _await_run(catalog, selection.run, deadline_s)
    return found.find(selection.run, selection.rank, selection.span)


def _members(catalog: Catalog, selection: Selection, only: frozenset[int] | None) -> list[_Member]:
    """Return the workers of a run with their files of one span, by default the latest of any.

    ``only`` has the ranks to return. Raises TraceError ``unknown_run`` or, if no worker has the
    span, ``unknown_span``.
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
    return [
        (w, catalog.files.get((run.run, w.rank, span)))
        for w in run.workers
        if only is None or w.rank in only
    ]


def _is_of(key: Hashable, files: TraceFiles) -> bool:
    """Return whether a key of a computation names a trace."""
    if isinstance(key, _RanksKey):
        return files in key.files
    parts = key if isinstance(key, tuple) else (key,)
    return any(part == files or (isinstance(part, tuple) and files in part) for part in parts)


def _recordings(catalog: Catalog, matching: str | None) -> list[tuple[RunRecording, TraceFiles]]:
    """Return the recordings of the lowest rank of each run, the oldest first."""
    found = [
        (RunRecording(run.run, len(run.workers), worker.rank, span, None), files)
        for run in catalog.runs.runs
        if matching is None or matching.casefold() in run.run.casefold()
        for worker in run.workers[:1]
        for span in worker.spans
        if (files := catalog.files.get((run.run, worker.rank, span.span))) is not None
    ]
    return sorted(found, key=lambda one: one[0].span.modified_ns or 0)


def _same(part: RankPart) -> RankPart:
    return part


def _groups(members: Sequence[_Member]) -> list[list[TraceFiles]]:
    """Return the traces in groups; none of a run that is no larger than a group."""
    traces = [files for _, files in members if files is not None]
    each = part_groups.RANKS
    starts = range(0, len(traces), each) if len(traces) > each else ()
    return [traces[at : at + each] for at in starts]


def _together(pending: Collection[Progress], done: int, traces: int) -> Progress:
    """Return the progress of several traces; traces being read come before waiting ones."""
    phases = {progress.phase for progress in pending}
    order: tuple[Phase, ...] = ("reading", "inferring", "storing", "waiting")
    return Progress(
        phase=next((phase for phase in order if phase in phases), "computing"),
        bytes_done=sum(p.bytes_done for p in pending),
        bytes_total=sum(p.bytes_total for p in pending),
        events=sum(p.events for p in pending),
        seconds_left=None,
        traces_done=done,
        traces=traces,
        note=next((p.note for p in pending if p.note), None),
    )
