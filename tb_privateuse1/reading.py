"""What a view reads, by the names of its positional parameters, from a logdir's traces.

Most read one trace; ``base`` is a second one to compare it with, and ``ranks`` all ranks of a span:
of each only what the view's reduction made of it, one trace after the other, so that a thousand
ranks need the memory of one.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tb_privateuse1 import query, schema
from tb_privateuse1.files import Files
from tb_privateuse1.jobs import Pending, Progress
from tb_privateuse1.rules import RULES
from tb_privateuse1.rules.base import Rule
from tb_privateuse1.runs import Catalog, Worker
from tb_privateuse1.store import Store
from tb_privateuse1.texts import say
from tb_privateuse1.trace import Finding, Trace, TraceError
from tb_privateuse1.views import REDUCTIONS
from tb_privateuse1.views.base import Rank, chosen_ranks

_MOST_BYTES = 512 << 20
"""Of reductions that are kept: of a thousand ranks with 20,000 communications each."""
_LEAST_BYTES = 1024
_SHARE_S = 0.02


@dataclass(frozen=True)
class Place:
    """Which trace: by default the first run, the lowest rank, the latest span."""

    run: str | None = None
    rank: int | None = None
    span: int | None = None


HERE = Place()


_Key = tuple[Callable[[Trace], Any], Files]
"""A reduction and what it reduces: views may share one."""


class Reader:
    """Reads traces for views; its store keeps them.

    ``rules`` gives those that views with such a parameter ask.
    """

    def __init__(self, store: Store, rules: Callable[[], Sequence[Rule]] = lambda: RULES) -> None:
        self._store = store
        self._rules = rules
        self._parts: OrderedDict[_Key, Any] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def run(
        self,
        view: Callable[..., Any],
        catalog: Catalog,
        place: Place = HERE,
        base: Place = HERE,
        asked: Mapping[str, Any] | None = None,
        *,
        base_catalog: Catalog | None = None,
        wait_s: float | None = None,
    ) -> Any:
        """A view's result. Raises TraceError, or Pending if reading takes longer than ``wait_s``.

        ``base`` is a place in ``base_catalog``, by default in ``catalog``.
        """
        until = None if wait_s is None else time.monotonic() + wait_s
        asked = asked or {}
        if (names := schema.reads_of(view)) == ("ranks",):
            return view(self._ranks(view, catalog, place, until, asked), **asked)
        trace = self._trace(catalog, place, wait_s)
        if "base" not in names:
            rules = self._rules() if "rules" in names else RULES
            return query.run(view, trace, asked, rules)
        other = self._trace(base_catalog or catalog, base, _left(until))
        return view(*({"trace": trace, "base": other}[name] for name in names), **asked)

    def _trace(self, catalog: Catalog, place: Place, wait_s: float | None) -> Trace:
        return self._store.trace(catalog.find(place.run, place.rank, place.span), wait_s)

    def _ranks(
        self,
        view: Callable[..., Any],
        catalog: Catalog,
        place: Place,
        until: float | None,
        asked: Mapping[str, Any],
    ) -> tuple[Rank, ...]:
        reduce = REDUCTIONS[view.__name__]
        only = chosen_ranks(asked.get("only"))
        members = _members(catalog, place)
        if only is not None:
            members = [(worker, files) for worker, files in members if worker.rank in only]
        found: dict[int, Rank] = {}
        waiting: dict[int, Progress] = {}
        while len(found) < len(members):
            for worker, files in members:
                if worker.rank in found:
                    continue
                # The first one is always asked for, so that there is some progress.
                late = bool(waiting) and until is not None and time.monotonic() >= until
                try:
                    found[worker.rank] = self._rank(reduce, worker, files, until, late=late)
                    waiting.pop(worker.rank, None)
                except Pending as pending:
                    if not late or worker.rank not in waiting:
                        waiting[worker.rank] = pending.progress
            if waiting and until is not None and time.monotonic() >= until:
                raise Pending(_together(list(waiting.values()), len(members)))
        return tuple(found[rank] for rank in sorted(found))

    def _rank(
        self,
        reduce: Callable[[Trace], Any],
        worker: Worker,
        files: Files | None,
        until: float | None,
        *,
        late: bool,
    ) -> Rank:
        """Raises Pending; if it is late, of what is not known at once."""
        if files is None:
            finding = Finding("unknown_span", say("It has no such span."))
            return Rank(worker.rank, worker.worker, None, finding)
        key = (reduce, files)  # with size and time of change: another file is another part
        with self._lock:
            part = self._parts.get(key)
        if part is None and late:
            raise Pending(Progress("waiting", 0, files.trace.size, 0, None))
        try:
            part = part or self._read(key, until)
        except TraceError as error:
            finding = Finding(error.code, error.message, error.hint)
            return Rank(worker.rank, worker.worker, None, finding)
        return Rank(worker.rank, worker.worker, part)

    def _read(self, key: _Key, until: float | None) -> Any:
        # All that wait share the time: the first would have it all otherwise.
        left = _left(until)
        wait_s = None if left is None else min(left, _SHARE_S)
        part = key[0](self._store.trace(key[1], wait_s))
        with self._lock:
            if key not in self._parts:
                self._bytes += _size(part)
            self._parts[key] = part
            while self._bytes > _MOST_BYTES and len(self._parts) > 1:
                _, oldest = self._parts.popitem(last=False)
                self._bytes -= _size(oldest)
        return part


def _members(catalog: Catalog, place: Place) -> list[tuple[Worker, Files | None]]:
    """The workers of a run with the files of one span; None where one has no such span.

    By default of the first run, and the latest span of any. Raises TraceError ``unknown_run`` or,
    if no worker has it, ``unknown_span``.
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
    return [(w, catalog.files.get((of.run, w.rank, span))) for w in of.workers]


def _size(part: Any) -> int:
    """About as many bytes as a reduction takes: its columns, and those of what it holds."""
    if isinstance(part, np.ndarray):
        return part.nbytes
    if not dataclasses.is_dataclass(part):
        return 0
    values = (getattr(part, field.name) for field in dataclasses.fields(part))
    return _LEAST_BYTES + sum(map(_size, values))


def _left(until: float | None) -> float | None:
    return None if until is None else max(until - time.monotonic(), 0.0)


def _together(several: list[Progress], traces: int) -> Progress:
    """How far those are that are not done, of so many traces."""
    reading = [p for p in several if p.phase != "waiting"] or several
    return Progress(
        phase=reading[0].phase,
        bytes_done=sum(p.bytes_done for p in several),
        bytes_total=sum(p.bytes_total for p in several),
        events=sum(p.events for p in several),
        seconds_left=None,
        traces_done=traces - len(several),
        traces=traces,
    )
