"""Run a request: look its traces up, open them, and call the view with what it reads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from tb_privateuse1.discovery.catalog import Catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.storage.jobs import canceled_error
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.memory_budget import BUDGET, MemoryBudget
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.computations import Computations, Report, Turns, open_trace
from tb_privateuse1.views.request import Request, Selection, seconds_left
from tb_privateuse1.views.signature import is_heavy
from tb_privateuse1.views.sources import Catalogs, Source, find_files, find_inputs

if TYPE_CHECKING:
    from tb_privateuse1.advice.rules.rule import Rule

_T = TypeVar("_T")

_HEAVY_AT_A_TIME = 2


class _Key(Struct, frozen=True):
    """The key of a computation."""

    what: Hashable
    """The view, or a name of what is made of a trace."""
    files: tuple[TraceFiles, ...]
    """The traces that it reads."""
    options: Hashable
    inputs: Hashable = None

    def __hash__(self) -> int:
        # Each poll looks it up: the files of ten thousand ranks would take 0.2 s each time.
        return hash((self.what, self.files[:1], self.options))


class Reader:
    """Runs requests on the traces of ``catalog``. Its methods may be called from any thread.

    ``rules`` returns the rules for views that read ``rules``, by default the built-in ones.
    ``base_catalog`` has the traces to compare with, by default those of ``catalog``.
    """

    def __init__(
        self,
        store: Store,
        catalog: Catalogs,
        rules: Callable[[], Sequence[Rule]] | None = None,
        *,
        base_catalog: Catalogs | None = None,
        memory: MemoryBudget = BUDGET,
    ) -> None:
        self._store = store
        self.source = Source(store, catalog, base_catalog, rules or _built_in_rules, memory)
        self._computations = Computations[_Key]()
        self._heavy = Turns(_HEAVY_AT_A_TIME)

    def run(self, request: Request) -> Any:
        """Return the view's result; equal requests at the same time share one computation.

        Raises TraceError, or Pending if it takes longer than the request's deadline.
        """
        view, options = request.view, request.options
        inputs = find_inputs(self.source, request)

        def work(report: Report) -> Any:
            values = inputs.open(report)
            with self._heavy.turn(report) if is_heavy(view) else contextlib.nullcontext():
                return view(*values, **options)

        key = _Key(view, inputs.files, repr(options), inputs.key)
        wait_s = None if inputs.keeps_deadline else seconds_left(request.deadline_s)
        return self._computations.run(key, work, wait_s)

    def find(self, selection: Selection, deadline_s: float | None = None) -> TraceFiles:
        """Return the files of a trace. Raises TraceError, or Pending during the first scan."""
        return find_files(self.source.catalog, selection, deadline_s)

    def use_trace(
        self,
        files: TraceFiles,
        use: Callable[[Trace], _T],
        deadline_s: float | None,
        what: str,
        options: Hashable = None,
    ) -> _T:
        """Return what ``use`` makes of a trace, once for all callers with equal ``options``.

        Raises what ``use`` raises, TraceError, or Pending.
        """

        def work(report: Report) -> _T:
            trace, _ = open_trace(self._store, files, report)
            return use(trace)

        key = _Key(what, (files,), options)
        return self._computations.run(key, work, seconds_left(deadline_s))

    def keep_groups(self, catalog: Catalog) -> None:
        """Store the parts of large runs in groups, as far as all parts of a group are stored."""
        from tb_privateuse1.views.sources.all_ranks import keep_groups  # which one trace needs not

        keep_groups(self._store, catalog)

    def cancel(self, files: TraceFiles) -> bool:
        """Cancel the reading of a trace and computations on it; return whether there were any.

        Their waiting callers get TraceError ``canceled``. Traces that are read only for their part
        in these computations are canceled, too.
        """
        ended = self._computations.cancel(lambda key: files in key.files, canceled_error(files))
        was_read = self._store.cancel(files)
        for key in ended:
            for own in key.files:
                self._store.cancel(own, parts=True)
        return was_read or bool(ended)


def _built_in_rules() -> Sequence[Rule]:
    from tb_privateuse1.advice.rules import RULES  # which few views read

    return tuple(RULES.values())
