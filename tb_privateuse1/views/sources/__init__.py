"""The inputs of views: one trace and perhaps its base, all ranks of a span, or recordings."""

from __future__ import annotations

from collections.abc import Callable

from tb_privateuse1.trace.registry import OnCall
from tb_privateuse1.views.request import Request
from tb_privateuse1.views.sources import one_trace
from tb_privateuse1.views.sources.source import Inputs, Source

__all__ = ["find_inputs", "one_trace", "source", "trace_parts"]

_OF_MANY: dict[tuple[str, ...], Callable[[Source, Request], Inputs]] = {
    ("ranks",): OnCall("tb_privateuse1.views.sources.all_ranks", "find_ranks"),
    ("recordings",): OnCall("tb_privateuse1.views.sources.recordings", "find_recordings"),
}
"""By what a view reads."""


def find_inputs(source: Source, request: Request) -> Inputs:
    """Look up the traces of a request, and open none.

    Raises TraceError, or Pending during the first scan.
    """
    find = _OF_MANY.get(request.reads, one_trace.find_trace)
    return find(source, request)
