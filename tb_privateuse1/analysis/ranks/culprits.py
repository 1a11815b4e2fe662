"""Name who keeps the other ranks waiting beyond chance: nodes, ranks, links, missed collectives.

``slow_ranks``, ``slow_groups`` and ``missing_calls`` search; here are the result and its order.
See docs/internals/blame.md for the method and its error rate.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.ranks.job import Job
from tb_privateuse1.analysis.ranks.missing_calls import MissedCalls, find_missed_calls
from tb_privateuse1.analysis.ranks.slow_groups import SlowGroup, find_slow_groups
from tb_privateuse1.analysis.ranks.slow_ranks import SlowRanks, find_slow_ranks
from tb_privateuse1.analysis.ranks.slow_reasons import Reason, SlowCause, find_reason
from tb_privateuse1.trace.statistics import ERROR_RATE
from tb_privateuse1.trace.table import I64

CulpritKind = Literal["rank", "node", "link", "missing", "input", "throttled"]

_FAMILY = ERROR_RATE / 4
"""The error rate is of jobs without a cause that get a culprit: a quarter for slow ranks, nodes,
links and missed collectives each."""
LEAST_COST = 0.02
"""The least time that others wait, as a share of the mean step: devices of one type differ by up to
this much, and so do networks."""
_MOST = 20
"""Ranks for one run to repair: those that cost least are left out."""


class Culprit(Struct, frozen=True):
    """Ranks that the others wait for, or a group whose transfers take long. Times are per step."""

    kind: CulpritKind
    ranks: tuple[int, ...]
    host: str | None
    """The host of all of them; null if they share none, or it is unknown."""
    group: str | None
    """The process group of a link or of missed collectives; else the one of just these ranks."""
    cause: SlowCause
    idle_class: ClassName | None
    """For ``host`` and ``input``: where most of the additional idle time goes."""
    kernel: str | None
    """For ``computation``: the kernel with most of the additional time."""
    kernel_ns: int | None
    excess_ns: int | None
    """Own work, or transfers, beyond the median of the peers; null for missed collectives."""
    excess_bound_ns: int | None
    """Half of the 99 % interval of ``excess_ns``, by its spread over the steps."""
    cause_ns: int | None
    """The part of ``excess_ns`` that ``cause`` explains."""
    cost_ns: int | None
    """How long the others wait for them, at most ``excess_ns``; null if that is not known."""
    steps: int
    """The steps that show it."""
    of_steps: int
    p_value: float
    """A bound of the probability of this by chance, corrected for the number of tests."""
    victims: tuple[int, ...]
    """The ranks that wait for them in a common collective."""


def least_cost_ns(job: Job) -> int | None:
    """Return the least cost per step of a culprit; None if no two ranks met in a collective."""
    if len(job.parts) < 2 or not len(job.calls.rank):
        return None
    return round(LEAST_COST * job.step_ns)


def find_culprits(job: Job) -> tuple[Culprit, ...]:
    """Return the culprits, those with the greatest cost first; at most ``_MOST``."""
    floor_ns = least_cost_ns(job)
    if floor_ns is None:
        return ()
    missed = find_missed_calls(job, _FAMILY)
    without = {rank for one in missed for rank in one.rows}
    slow = find_slow_ranks(job, without, _FAMILY, floor_ns)
    links = find_slow_groups(job, _FAMILY, floor_ns)
    unknown = Reason("unknown", None)
    found = [_culprit(job, one, "missing", unknown, one.group, one.others) for one in missed]
    found += [_slow(job, one) for one in slow]
    found += [_link(job, one) for one in links]
    return tuple(sorted(found, key=lambda one: -(one.cost_ns or 0))[:_MOST])


def _slow(job: Job, one: SlowRanks) -> Culprit:
    reason = find_reason(job, one.rows, one.peers, one.excess_ns)
    kind: CulpritKind = "rank"
    if one.is_node:
        kind = "node"
    elif reason.cause == "input":
        kind = "input"
    elif reason.is_throttled:
        kind = "throttled"
    return _culprit(job, one, kind, reason, job.group_of_just(one.rows), one.victims)


def _link(job: Job, one: SlowGroup) -> Culprit:
    reason = Reason("transfer", round(one.excess_ns))
    return _culprit(job, one, "link", reason, one.group, one.rows)


def _culprit(
    job: Job,
    one: SlowRanks | SlowGroup | MissedCalls,
    kind: CulpritKind,
    reason: Reason,
    group: str | None,
    victims: I64,
) -> Culprit:
    timed = None if isinstance(one, MissedCalls) else one
    return Culprit(
        kind=kind,
        ranks=job.ranks(one.rows),
        host=job.common_host(one.rows),
        group=group,
        cause=reason.cause,
        idle_class=reason.idle_class,
        kernel=reason.kernel,
        kernel_ns=reason.kernel_ns,
        excess_ns=None if timed is None else round(timed.excess_ns),
        excess_bound_ns=None if timed is None else round(timed.bound_ns),
        cause_ns=reason.explained_ns,
        cost_ns=None if timed is None else round(timed.cost_ns),
        steps=one.steps,
        of_steps=one.of_steps,
        p_value=one.p_value,
        victims=job.ranks(victims),
    )
