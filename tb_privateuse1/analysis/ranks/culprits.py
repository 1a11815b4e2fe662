"""Name who keeps the other ranks waiting beyond chance: nodes, ranks, links, missed collectives.

``slow_ranks``, ``slow_groups`` and ``missing_calls`` search; here are the result and its order.
See docs/internals/blame.md for the method and its error rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.ranks.job import Job
from tb_privateuse1.analysis.ranks.missing_calls import MissedCalls, find_missed_calls
from tb_privateuse1.analysis.ranks.slow_groups import SlowGroup, find_slow_groups
from tb_privateuse1.analysis.ranks.slow_ranks import SlowRanks, find_slow_ranks
from tb_privateuse1.analysis.ranks.slow_reasons import SlowCause, find_reason

CulpritKind = Literal["rank", "node", "link", "missing", "input", "throttled"]
CulpritCause = Literal[SlowCause, "transfer"]

ERROR_RATE = 0.01
"""At most this share of jobs without a cause gets a culprit: a quarter for slow ranks, nodes, links
and missed collectives each."""
_FAMILY = ERROR_RATE / 4
LEAST_COST = 0.02
"""The least time that others wait, as a share of the mean step: devices of one type differ by up to
this much, and so do networks."""
_MOST = 20


@dataclass(frozen=True)
class Culprit:
    """Ranks that the others wait for, or a group whose transfers take long. Times are per step."""

    kind: CulpritKind
    ranks: tuple[int, ...]
    host: str | None
    """The host of all of them; null if they share none, or it is unknown."""
    group: str | None
    """The process group of a link or of missed collectives; else the one of just these ranks."""
    cause: CulpritCause
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


def find_culprits(job: Job) -> tuple[Culprit, ...]:
    """Return the culprits, those with the greatest cost first; at most ``_MOST``."""
    if len(job.parts) < 2 or not len(job.calls.rank):
        return ()
    floor_ns = LEAST_COST * job.step_ns
    missed = find_missed_calls(job, _FAMILY)
    without = {rank for one in missed for rank in one.rows}
    found = [_missing(job, one) for one in missed]
    found += [_slow(job, one) for one in find_slow_ranks(job, without, _FAMILY, floor_ns)]
    found += [_link(job, one) for one in find_slow_groups(job, _FAMILY, floor_ns)]
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
    return Culprit(
        kind=kind,
        ranks=job.ranks(one.rows),
        host=job.common_host(one.rows),
        group=job.group_of_just(one.rows),
        cause=reason.cause,
        idle_class=reason.idle_class,
        kernel=reason.kernel,
        kernel_ns=reason.kernel_ns,
        excess_ns=round(one.excess_ns),
        excess_bound_ns=round(one.bound_ns),
        cause_ns=reason.explained_ns,
        cost_ns=round(one.cost_ns),
        steps=one.steps,
        of_steps=one.of_steps,
        p_value=one.p_value,
        victims=job.ranks(one.victims),
    )


def _link(job: Job, one: SlowGroup) -> Culprit:
    return Culprit(
        kind="link",
        ranks=job.ranks(one.rows),
        host=job.common_host(one.rows),
        group=one.group,
        cause="transfer",
        idle_class=None,
        kernel=None,
        kernel_ns=None,
        excess_ns=round(one.excess_ns),
        excess_bound_ns=round(one.bound_ns),
        cause_ns=round(one.excess_ns),
        cost_ns=round(one.cost_ns),
        steps=one.steps,
        of_steps=one.of_steps,
        p_value=one.p_value,
        victims=job.ranks(one.rows),
    )


def _missing(job: Job, one: MissedCalls) -> Culprit:
    return Culprit(
        kind="missing",
        ranks=job.ranks(one.rows),
        host=job.common_host(one.rows),
        group=one.group,
        cause="unknown",
        idle_class=None,
        kernel=None,
        kernel_ns=None,
        excess_ns=None,
        excess_bound_ns=None,
        cause_ns=None,
        cost_ns=None,
        steps=one.steps,
        of_steps=one.of_steps,
        p_value=one.p_value,
        victims=job.ranks(one.others),
    )
