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
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64

MOST_ON_DEVICE = 2.0
"""Units for matrices are filled by larger batches: their time may stay or be divided by the rounds.
Of two, up to half goes, beside all that the claim has."""


def saved(
    case: RuleContext, ranges: Ranges, rounds: np.ndarray
) -> tuple[intervals.Set | None, Scope]:
    """Return the time of all rounds of some ranges but one, and its removal."""
    return saved_in(case, ranges, all_but_one((ranges.start_ns, ranges.end_ns), rounds))


def all_but_one(spent: intervals.Set, rounds: np.ndarray) -> intervals.Set:
    """Return the time of times of rounds that one of them leaves: ``rounds`` has each one's."""
    return intervals.union(*device_bound.shorten(spent, 1 - 1 / rounds))


def saved_in(
    case: RuleContext,
    ranges: Ranges,
    looping: intervals.Set,
    shared_bytes: I64 | None = None,
    place: I64 | None = None,
) -> tuple[intervals.Set | None, Scope]:
    """Return the same where ``looping`` is the host's time that goes.

    ``shared_bytes`` and ``place`` are those of ``batched_cost.batched``.
    """
    host, work = case.of_host(looping), _batched(case, ranges, shared_bytes, place)
    claim = host if work is None or host is None else intervals.merge(host, work.claim)
    return claim, _removal(case, looping, work)


def _batched(
    case: RuleContext, ranges: Ranges, shared_bytes: I64 | None, place: I64 | None
) -> Fusion | None:
    """Return what one operator for each kind of call takes away; None if that is not known."""
    if not {"links", "shapes"} <= case.has:
        return None
    found = batched_cost.batched(
        case.trace, ranges, is_host=case.is_host, shared_bytes=shared_bytes, place=place
    )
    return fusion.fuse(case, found.graph, found.kind, found.duration_ns, found.fused_ns)


def _removal(case: RuleContext, looping: intervals.Set, work: Fusion | None) -> Scope:
    if work is None:
        return case.without(instants=looping)
    return case.without(instants=looping, kernels=work.kernels, kernel_share=work.shares)


def how(case: RuleContext) -> str:
    """Return how the time of all passes but one is computed."""
    if case.is_host:
        return say(
            "The time between the operators of all calls but one, and that of the operators beyond "
            "one for each kind of call; the gradients count as the calls do."
        )
    return say(
        "All passes but one while the device had nothing to do, and the device's time beyond one "
        "operator for each kind of call, while others waited for it."
    )
