"""Say what a recording lacks to explain more of its idle time, such as stacks or runtime calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from tb_privateuse1.analysis.account.class_intervals import ClassIntervals
from tb_privateuse1.analysis.account.classes import NUMBER, ClassName
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.groupby import named_rows
from tb_privateuse1.trace.model import NONE, Trace

_GRAPH = re.compile("graph", re.IGNORECASE)
_LEAST = 0.05
"""The share of the window from which a lack is worth a sentence."""


def missing_records(
    trace: Trace, shares: Mapping[ClassName, float], inside: ClassIntervals
) -> Iterator[str]:
    """Yield a sentence for each class whose reason is not recorded.

    ``shares`` are the classes' shares of the window, 0 to 1, and ``inside`` is its time.
    """

    def share(name: ClassName) -> str | None:
        return _percent(shares.get(name, 0.0))

    if text := share("unattributed"):
        yield say(
            "{share} of the time has no recorded reason: no thread that drives the device has an "
            "event there. Record ProfilerActivity.CPU, and all threads.",
            share=text,
        )
    if text := share("unknown_launch"):
        yield say(
            "{share} of the time is before activities without a recorded launch. Record "
            "ProfilerActivity.CPU; on a PrivateUse1 device, the backend's launches.",
            share=text,
        )
    in_graphs = _share_in_graphs(trace, inside)
    if text := _percent(in_graphs):
        yield say(
            "In {share} of the time the device stands still before a recorded node of a graph that "
            "it replays. Nodes that are not recorded may run there, or a branch of the graph waits "
            "for another one.",
            share=text,
        )
    if text := _percent(shares.get("queued_gap", 0.0) - in_graphs):
        yield say(
            "In {share} of the time the device stands still with work in its queue. What it waits "
            "for is not recorded: an event of another stream, another process, or its clock.",
            share=text,
        )
    if (text := share("python")) and not call_tree.has_functions(trace):
        yield say(
            "{share} of the time is the program's own code. Record with_stack=True to see which "
            "functions.",
            share=text,
        )


def _percent(part: float) -> str | None:
    return percent(part) if part >= _LEAST else None


def _share_in_graphs(trace: Trace, inside: ClassIntervals) -> float:
    """Return the share of gaps with queued work before activities of a graph's replay."""
    own = inside.take(np.flatnonzero(inside.time_class == NUMBER["queued_gap"]))
    launch = lookup(trace.kernels.launch, own.row, NONE)
    replays = named_rows(trace.strings, trace.launches.name, _GRAPH.search)
    length = own.end_ns - own.start_ns
    in_graph = lookup(replays, launch, False)
    whole = int((inside.end_ns - inside.start_ns).sum())
    return int(length[in_graph].sum()) / whole if whole else 0.0
