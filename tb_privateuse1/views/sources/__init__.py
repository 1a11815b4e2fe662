"""The inputs of views: one trace and perhaps its base, all ranks of a span, or recordings.

They come from a store and the catalogs of its traces. A kind of inputs is a module of this package.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from tb_privateuse1.discovery.catalog import Catalog
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.storage.jobs import Pending, Progress
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.memory_budget import MemoryBudget
from tb_privateuse1.trace.registry import OnCall
from tb_privateuse1.views.computations import Report
from tb_privateuse1.views.request import Request, Selection, seconds_left

if TYPE_CHECKING:
    from tb_privateuse1.advice.rules.rule import Rule
    from tb_privateuse1.views.sources.trace_parts import Parts

Catalogs = Catalog | Scanner


class Source(Struct, eq=False, dict=True):
    """All that requests may read."""

    store: Store
    catalog: Catalogs
    base_catalog: Catalogs | None
    """The traces to compare with; None: those of ``catalog``."""
    rules: Callable[[], Sequence[Rule]]
    memory: MemoryBudget
    """Of the parts of traces."""

    @functools.cached_property
    def parts(self) -> Parts:
        """Return the parts of the store's traces."""
        # Most requests read one trace, and need none of these modules.
        from tb_privateuse1.views.sources.trace_parts import Parts

        return Parts(self.store, self.memory)


class Inputs(Protocol):
    """The traces of a request, and how to open them."""

    @property
    def files(self) -> tuple[TraceFiles, ...]:
        """Return the files of the traces: to cancel one of them ends the computation."""

    @property
    def key(self) -> Hashable:
        """Return what else the values depend on."""

    @property
    def keeps_deadline(self) -> bool:
        """Return whether ``open`` returns what there is at the deadline of the request."""

    def open(self, report: Report) -> Iterable[Any]:
        """Open the traces, and return the values of the view's positional parameters.

        Data derived from a trace is computed when its value is taken. Raises TraceError.
        """


def find_files(catalog: Catalogs, selection: Selection, deadline_s: float | None) -> TraceFiles:
    """Return the files of a trace. Raises TraceError, or Pending during the first scan."""
    found = await_run(catalog, selection.run, deadline_s)
    return found.find(selection.run, selection.rank, selection.span)


def await_run(catalog: Catalogs, run: str | None, deadline_s: float | None) -> Catalog:
    """Return the catalog once it has a run. Raises TraceError, or Pending after the deadline."""
    if isinstance(catalog, Catalog):
        return catalog
    try:
        return catalog.await_run(run, seconds_left(deadline_s))
    except TraceError as error:
        if error.code == "scanning":
            raise Pending(Progress("waiting", 0, 0, 0, None)) from error
        raise


_FINDERS: dict[tuple[str, ...], Callable[[Source, Request], Inputs]] = {
    ("ranks",): OnCall("tb_privateuse1.views.sources.all_ranks", "find_ranks"),
    ("recordings",): OnCall("tb_privateuse1.views.sources.recordings", "find_recordings"),
}
"""By the inputs that a view declares; all others have one trace."""
_FIND_TRACE = OnCall("tb_privateuse1.views.sources.one_trace", "find_trace")


def find_inputs(source: Source, request: Request) -> Inputs:
    """Look up the traces of a request, and open none.

    Raises TraceError, or Pending during the first scan.
    """
    find = _FINDERS.get(request.reads, _FIND_TRACE)
    return find(source, request)
