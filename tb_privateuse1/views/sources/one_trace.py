"""The inputs of a view that reads one trace, data derived from it, its files, a base, or rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.storage.derived import DerivedData
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.registry import OnCall
from tb_privateuse1.trace.step_names import PHASES
from tb_privateuse1.views.computations import Report, open_trace
from tb_privateuse1.views.request import Request
from tb_privateuse1.views.signature import reads_of
from tb_privateuse1.views.sources import Source, find_files

if TYPE_CHECKING:
    from tb_privateuse1.advice.rules.rule import Rule

_run_hparams = OnCall("tb_privateuse1.views.sources.run_hparams", "selected_hparams")
_with_phase_steps = OnCall("tb_privateuse1.analysis.serving.phase_steps", "with_phase_steps")


class TraceInputs(Struct, frozen=True):
    """A trace, and after it the one to compare with, if the view reads ``base``."""

    store: Store
    view: Callable[..., Any]
    files: tuple[TraceFiles, ...]
    key: tuple[Rule, ...]
    """The rules, if the view reads ``rules``."""
    keeps_deadline: bool = False
    hparams: Callable[[], object] = tuple
    """Reads TensorBoard's hyperparameters of the runs, if the view reads ``hparams``."""
    of_phase: bool = False
    """Whether the window is a phase of serving: the iterations are the steps."""

    def open(self, report: Report) -> Iterator[Any]:
        """Open the trace and its base."""
        (trace, files), *bases = [open_trace(self.store, own, report) for own in self.files]
        base = bases[0][0] if bases else None
        if self.of_phase:
            trace = _with_phase_steps(trace)
            base = base and _with_phase_steps(base)
        given = {"files": files, "rules": self.key, "base": base}
        if "hparams" in reads_of(self.view):
            given["hparams"] = self.hparams()
        return trace_values(self.view, trace, given)


def find_trace(source: Source, request: Request) -> TraceInputs:
    """Look up the trace of a request, and the one to compare with."""
    reads, deadline_s = request.reads, request.deadline_s
    files = [find_files(source.catalog, request.selection, deadline_s)]
    if "base" in reads:
        base = request.selection if request.base is None else request.base
        files.append(find_files(source.base_catalog or source.catalog, base, deadline_s))
    rules = tuple(source.rules()) if "rules" in reads else ()
    of_phase = request.options.get("window") in PHASES
    hparams = functools.partial(_hparams, source, request)
    return TraceInputs(source.store, request.view, tuple(files), rules, False, hparams, of_phase)


def _hparams(source: Source, request: Request) -> tuple[object, object]:
    """Return the hyperparameters of the run of a request, and of the run to compare with."""
    base = request.selection if request.base is None else request.base
    return (
        _run_hparams(source.catalog, request.selection),
        _run_hparams(source.base_catalog or source.catalog, base),
    )


def trace_values(view: Callable[..., Any], trace: Trace, given: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what a view reads: values that are given, the trace, and data derived from it."""
    data = DerivedData(trace)
    for name in reads_of(view):
        yield given[name] if name in given else getattr(data, name)
