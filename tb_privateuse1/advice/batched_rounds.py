"""Price one round for all: what goes of the host's and the device's time of equal rounds."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.advice import fusion
from tb_privateuse1.advice.fusion import Fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.idioms import batched_cost
from tb_privateuse1.analysis.idioms.batched_cost import Ranges
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64

_NOTHING: I64 = np.empty(0, np.int64)


def saved(
    case: RuleContext, ranges: Ranges, rounds: np.ndarray
) -> tuple[intervals.Set | None, Scope]:
    """Return the time of all rounds of some ranges but one, and its removal."""
    return saved_in(case, ranges, (ranges.start_ns, ranges.end_ns), rounds)


def saved_in(
    case: RuleContext,
    ranges: Ranges,
    host_ns: intervals.Set,
    rounds: np.ndarray,
    shared_bytes: I64 = _NOTHING,
) -> tuple[intervals.Set | None, Scope]:
    """Return the same with the host's time of rounds: ``rounds`` has an entry for each of it.

    Tensors of ``shared_bytes`` are the same in all rounds.
    """
    looping = intervals.union(*device_bound.shorten(host_ns, 1 - 1 / rounds))
    host, work = case.of_host(looping), _batched(case, ranges, shared_bytes)
    claim = host if work is None or host is None else intervals.merge(host, work.claim)
    return claim, _removal(case, looping, work)


def _batched(case: RuleContext, ranges: Ranges, shared_bytes: I64) -> Fusion | None:
    """Return what one operator for each kind of call takes away; None if that is not known."""
    if not {"links", "shapes"} <= case.has:
        return None
    found = batched_cost.batched(
        case.trace, ranges, is_host=case.is_host, shared_bytes=shared_bytes
    )
    return fusion.fuse(case, found.graph, found.kind, found.duration_ns, found.fused_ns)


def _removal(case: RuleContext, looping: intervals.Set, work: Fusion | None) -> Scope:
    if work is None:
        return case.without(instants=looping)
    return case.without(instants=looping, kernels=work.kernels, kernel_share=work.shares)
