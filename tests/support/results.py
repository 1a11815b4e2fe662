"""A view's result on traces that are at hand, whatever it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.analysis.ranks.collectives import reduce_trace
from tb_privateuse1.discovery.catalog import Span
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import signature
from tb_privateuse1.views.reduced_traces import Rank, RunRecording
from tb_privateuse1.views.sources.one_trace import trace_values


def result(view: Callable[..., Any], trace: Trace, **options: Any) -> Any:
    """Of one trace: the only rank of its run, and its own base."""
    names = signature.reads_of(view)
    if names == ("ranks",):
        return view(ranks(trace, reduce=signature.reduction_of(view)), **options)
    if names == ("recordings",):
        return view(recordings(trace, reduce=signature.reduction_of(view)), **options)
    return view(trace, trace, **options) if "base" in names else run_view(view, trace, options)


def run_view(view: Callable[..., Any], trace: Trace, options: Mapping[str, Any]) -> Any:
    """Of a view that reads one trace, data derived from it, or the built-in rules."""
    given = {"rules": tuple(RULES.values())}
    return view(*trace_values(view, trace, given), **options)


def recordings(trace: Trace, reduce: Callable[[Trace], Any]) -> tuple[RunRecording, ...]:
    """The only recording of a logdir."""
    return (RunRecording("run", 1, 0, Span(1, "1", 0, None, False), reduce(trace)),)


def ranks(*traces: Trace | None, reduce: Callable[[Trace], Any] = reduce_trace) -> tuple[Rank, ...]:
    """All ranks of a run, by their metadata or their order; None for one that is not there."""
    found = []
    for i, trace in enumerate(traces):
        if trace is None:
            problem = Finding("truncated", f"Rank {i} is cut off.")
            found.append(Rank(i, f"worker{i}", None, problem))
            continue
        number = i if trace.meta.rank is None else trace.meta.rank
        found.append(Rank(number, trace.meta.worker or f"worker{number}", reduce(trace)))
    return tuple(found)
