"""Reduce each trace to what a view of many traces needs, once, and keep only that in memory.

A thousand ranks then need the memory of one. The parts of a large run's ranks are stored in groups
as well (``storage.part_groups``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from tb_privateuse1.analysis.ranks.collectives import reduce_trace
from tb_privateuse1.discovery.file import printable
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.storage import part_groups
from tb_privateuse1.storage.jobs import Pending, Phase, Progress
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.isolation import Failure, isolate
from tb_privateuse1.trace.memory_budget import MemoryBudget, size_bytes
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.computations import Report
from tb_privateuse1.views.reduced_traces import Rank, Ranks
from tb_privateuse1.views.request import seconds_left

_T = TypeVar("_T")
Reduction = Callable[[Trace], Any]

Part = tuple[Any, Finding | None]
"""The reduction of a trace, or why there is none."""

_SHARE_S = 0.02
_RANK_BYTES = 100
"""Of a rank without its part."""
_MOST_KEYS = 16
"""Runs and spans that are looked up at a time: the ranks of a large run are a megabyte."""
_WEIGHED = 16
"""Of this number of parts one is weighed: they are alike, and that takes longer than to open
one."""
_UPDATE_S = 0.1
"""How often the progress of all traces is summed."""


class LookedUp:
    """Files that were looked up in a catalog, until it is another one.

    Pages poll several times a second, and to list ten thousand ranks takes longer than the rest of
    an answer.
    """

    def __init__(self) -> None:
        self._known: tuple[object, dict[Hashable, Any]] = None, {}

    def find(self, catalog: object, key: Hashable, look_up: Callable[[], _T]) -> _T:
        """Return what was looked up in the same catalog by this key, else look it up."""
        of, known = self._known
        if of is not catalog or (key not in known and len(known) == _MOST_KEYS):
            known = {}
            self._known = catalog, known
        if key not in known:
            known[key] = look_up()
        found: _T = known[key]
        return found


class Parts:
    """The parts of a store's traces. Its methods may be called from any thread."""

    def __init__(self, store: Store, memory: MemoryBudget) -> None:
        self._store = store
        self._memory = memory
        self.looked_up = LookedUp()

    def reduce_all(
        self,
        reduce: Reduction,
        traces: Sequence[TraceFiles],
        report: Report,
        *,
        at_a_time: int,
        deadline_s: float | None = None,
    ) -> dict[TraceFiles, Part]:
        """Reduce traces in their order; return what was reduced before or is by the deadline.

        At most ``at_a_time`` traces wait for their readers.
        """
        known = ((files, self.known(reduce, files)) for files in traces)
        parts: dict[TraceFiles, Part] = {
            files: (part, None) for files, part in known if part is not None
        }
        pending: dict[TraceFiles, Progress] = {}
        left = [files for files in traces if files not in parts]
        progress, updated_s = sum_progress((), len(parts), len(traces)), 0.0
        while left:
            waiting: list[TraceFiles] = []
            for place, files in enumerate(left):
                if len(waiting) == at_a_time:
                    waiting += left[place:]
                    break
                if seconds_left(deadline_s) == 0:
                    return parts
                if time.monotonic() - updated_s > _UPDATE_S:
                    progress = sum_progress(pending.values(), len(parts), len(traces))
                    updated_s = time.monotonic()
                report(replace(progress, traces_done=len(parts)))
                try:
                    parts[files] = self.part(reduce, files)
                    pending.pop(files, None)
                except Pending as error:
                    pending[files] = error.progress
                    waiting.append(files)
            left = waiting
        report(sum_progress((), len(parts), len(traces)))
        return parts

    def known(self, reduce: Reduction, files: TraceFiles) -> Any:
        """Return the part of a trace that was reduced before; None of others."""
        return self._memory.find(self, (reduce, files))

    def part(self, reduce: Reduction, files: TraceFiles) -> Part:
        """Return the part of a trace, or why there is none.

        Raises Pending unless it is reduced, or its trace is open, within a short time.
        """
        key = (reduce, files)  # with size and time of change: another file is another part
        try:
            part = isolate(
                printable(files.trace.name),
                lambda: self._memory.compute(self, key, lambda: self._read(*key), goes_last=True),
            )
        except TraceError as error:
            return None, Finding(error.code, error.message, error.hint)
        return (None, part.finding()) if isinstance(part, Failure) else (part, None)

    def open_group(self, group: Sequence[TraceFiles]) -> bool:
        """Open the parts of a group that is stored; whether all of them are in memory now."""
        if all(self.known(reduce_trace, files) for files in group):
            return True
        parts = part_groups.find_group(group, self._store.cache_dir, self._store.vendors)
        if not parts:
            return False
        keys = [(reduce_trace, files) for files in group]
        weighed = [size_bytes(part) for part in parts[::_WEIGHED]]
        each = sum(weighed) // len(weighed)
        self._memory.put_all(self, dict(zip(keys, parts, strict=True)), each)
        return True

    def keep_group(self, group: Sequence[TraceFiles]) -> None:
        """Store the parts of a group together, unless one is missing."""
        parts = [self.known(reduce_trace, files) for files in group]
        if None not in parts:  # one may have a problem
            part_groups.keep_group(group, parts, self._store.cache_dir, self._store.vendors)

    def as_before(
        self,
        key: Hashable,
        ranks: tuple[Rank, ...],
        reduce: Reduction,
        traces: Sequence[TraceFiles],
    ) -> tuple[Rank, ...]:
        """Return the ranks of a run; the same object as the last time if its parts are the same.

        ``traces`` are those of their parts. Where memory does not hold them all, nothing is kept.
        """
        parts = {id(rank.part) for rank in ranks if rank.part is not None}
        if not parts <= {id(self.known(reduce, files)) for files in traces}:
            return ranks
        before = self._memory.find(self, key)
        if before is not None and before.same(ranks):
            return cast(Ranks, before)
        now = Ranks.kept_in(self._memory, ranks)
        self._memory.replace(self, key, now, _RANK_BYTES * len(ranks))
        return now

    def _read(self, reduce: Reduction, files: TraceFiles) -> Any:
        # A short wait for each trace in turn: waiting for the first one would starve the others.
        if reduce is reduce_trace:  # which is stored
            return self._store.part(files, _SHARE_S)
        return reduce(self._store.trace(files, _SHARE_S))


def sum_progress(pending: Collection[Progress], done: int, traces: int) -> Progress:
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
