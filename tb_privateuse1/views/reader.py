"""What a view reads, by the names of its positional parameters, from a logdir's traces.

Most read one trace; ``base`` is a second one to compare it with, and ``ranks`` all ranks of a span:
of each only what the view's reduction made of it, one trace after the other, so that a thousand
ranks need the memory of one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.base import Rule
from tb_privateuse1.discovery.catalog import Catalog, Worker
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.i18n import say
from tb_privateuse1.storage.jobs import Pending, Phase, Progress
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.memory_budget import BUDGET, MemoryBudget
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import REDUCTIONS, query, signature
from tb_privateuse1.views.base import Rank, chosen_ranks
from tb_privateuse1.views.computations import Computations, Report, Turns, open_trace

_T = TypeVar("_T")

_SHARE_S = 0.02
_HEAVY = frozenset({"dependencies", "critical"})
"""Views that read these take seconds and much memory: others of their kind wait for their turn."""
_HEAVY_AT_A_TIME = 2


@dataclass(frozen=True)
class Selection:
    """Which trace: by default the first run, the lowest rank, the latest span."""

    run: str | None = None
    rank: int | None = None
    span: int | None = None


HERE = Selection()


_Key = tuple[Callable[[Trace], Any], TraceFiles]
"""A reduction and what it reduces: views may share one."""


class Reader:
    """Reads traces for views; its store keeps them.

    ``rules`` gives those that views with such a parameter ask.
    """

    def __init__(
        self,
        store: Store,
        rules: Callable[[], Sequence[Rule]] = lambda: RULES,
        memory: MemoryBudget = BUDGET,
    ) -> None:
        self._store = store
        self._rules = rules
        self._memory = memory
        self._computations = Computations()
        self._heavy = Turns(_HEAVY_AT_A_TIME)

    def run(
        self,
        view: Callable[..., Any],
        catalog: Catalog,
        place: Selection = HERE,
        base: Selection = HERE,
        asked: Mapping[str, Any] | None = None,
        *,
        base_catalog: Catalog | None = None,
        wait_s: float | None = None,
    ) -> Any:
        """A view's result. Raises TraceError, or Pending if it takes longer than ``wait_s``.

        ``base`` is a place in ``base_catalog``, by default in ``catalog``. Who asks for the same
        at the same time gets the same result.
        """
        options = asked or {}
        names = signature.reads_of(view)
        if names == ("ranks",):
            members = _members(catalog, place, chosen_ranks(options.get("only")))

            def work(report: Report) -> Any:
                return view(self._ranks(view, members, report), **options)

            key = view, tuple((w.rank, w.worker, files) for w, files in members), repr(options)
            return self.compute(key, work, wait_s)
        files = [_find(catalog, place)]
        if "base" in names:
            files.append(_find(base_catalog or catalog, base))

        rules = self._rules() if "rules" in names else RULES

        def of_traces(report: Report) -> Any:
            first, *others = (open_trace(self._store, one, report) for one in files)
            if others:
                return view(first, *others, **options)
            with self._heavy.turn(report) if _HEAVY & set(names) else contextlib.nullcontext():
                return query.run_view(view, first, options, rules)

        return self.compute((view, tuple(files), rules, repr(options)), of_traces, wait_s)

    def compute(self, key: Hashable, work: Callable[[Report], _T], wait_s: float | None) -> _T:
        """``Computations.run``, for what is no view."""
        return self._computations.run(key, work, wait_s)

    def _ranks(
        self,
        view: Callable[..., Any],
        members: Sequence[tuple[Worker, TraceFiles | None]],
        report: Report,
    ) -> tuple[Rank, ...]:
        reduce = REDUCTIONS[view.__name__]
        found: dict[int, Rank] = {}
        pending: dict[int, Progress] = {}
        while len(found) < len(members):
            for worker, files in members:
                if worker.rank in found:
                    continue
                report(_together(list(pending.values()), len(found), len(members)))
                try:
                    found[worker.rank] = self._rank(reduce, worker, files)
                    pending.pop(worker.rank, None)
                except Pending as error:
                    pending[worker.rank] = error.progress
        report(_together([], len(found), len(members)))
        return tuple(found[rank] for rank in sorted(found))

    def _rank(
        self, reduce: Callable[[Trace], Any], worker: Worker, files: TraceFiles | None
    ) -> Rank:
        """Raises Pending."""
        if files is None:
            finding = Finding("unknown_span", say("It has no such span."))
            return Rank(worker.rank, worker.worker, None, finding)
        key = (reduce, files)  # with size and time of change: another file is another part
        try:
            part = self._memory.compute(self, key, lambda: self._read(key), goes_last=True)
        except TraceError as error:
            finding = Finding(error.code, error.message, error.hint)
            return Rank(worker.rank, worker.worker, None, finding)
        return Rank(worker.rank, worker.worker, part)

    def _read(self, key: _Key) -> Any:
        # All that wait share the time: the first would have it all otherwise.
        reduce, files = key
        return reduce(self._store.trace(files, _SHARE_S))


def _find(catalog: Catalog, place: Selection) -> TraceFiles:
    return catalog.find(place.run, place.rank, place.span)


def _members(
    catalog: Catalog, place: Selection, only: frozenset[int] | None
) -> list[tuple[Worker, TraceFiles | None]]:
    """The workers of a run with the files of one span; None where one has no such span.

    ``only`` names their ranks. By default of the first run, and the latest span of any. Raises
    TraceError ``unknown_run`` or, if no worker has it, ``unknown_span``.
    """
    catalog.find(place.run)
    of = next(r for r in catalog.runs.runs if place.run in (None, r.run))
    numbers = sorted({s.span for worker in of.workers for s in worker.spans})
    span = numbers[-1] if place.span is None else place.span
    if span not in numbers:
        have = ", ".join(map(str, numbers))
        raise TraceError(
            "unknown_span",
            say("There is no span {wanted}.", wanted=span),
            say("There is: {have}.", have=have),
        )
    return [
        (w, catalog.files.get((of.run, w.rank, span)))
        for w in of.workers
        if only is None or w.rank in only
    ]


def _together(pending: Sequence[Progress], done: int, traces: int) -> Progress:
    """How far so many traces are; those that are read come before those that wait for it."""
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
    )
