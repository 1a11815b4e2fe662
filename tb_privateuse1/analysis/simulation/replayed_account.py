"""Account of the time of replayed steps: what the device does in each instant, or that it idles."""

from __future__ import annotations

from typing import Literal, get_args

from tb_privateuse1.analysis.simulation.baseline import step_windows
from tb_privateuse1.analysis.simulation.dependency_graph import Graph
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MEMCPY, MEMSET, Trace
from tb_privateuse1.trace.table import I64, Bools

ReplayedClass = Literal["kernel", "exposed_copy", "exposed_fill", "exposed_communication", "idle"]
"""Classes of the account of time. All idle time is one class: the reason for it moves when other
work is removed."""

CLASSES: tuple[ReplayedClass, ...] = get_args(ReplayedClass)


def replayed_account(
    trace: Trace, graph: Graph, time_ns: I64, length_ns: I64, steps: I64
) -> dict[ReplayedClass, int]:
    """Return the time of some steps by class, in ns; the classes add up to the steps.

    ``time_ns`` and ``length_ns`` are the starts and durations of the graph's nodes.
    """
    begin, end = step_windows(graph, time_ns, length_ns)
    rest = intervals.union(begin[steps], end[steps])
    n, kernels = len(graph.points), trace.kernels
    start = time_ns[n:]
    stop = start + length_ns[n:]
    copies, fills = kernels.kind == MEMCPY, kernels.kind == MEMSET
    talks = kernels.communication
    masks: tuple[Bools, ...] = (~(copies | fills | talks), copies & ~talks, fills & ~talks, talks)
    found: dict[ReplayedClass, int] = {}
    for name, mask in zip(CLASSES, masks, strict=False):
        left = intervals.subtract(rest, intervals.union(start[mask], stop[mask]))
        found[name] = intervals.length(rest) - intervals.length(left)
        rest = left
    found["idle"] = intervals.length(rest)
    return found
