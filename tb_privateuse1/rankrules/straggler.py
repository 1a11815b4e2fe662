"""A rank for which the others wait, and what it does longer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.rankrules.base import RankCase, RankEvidence, RankFound, RankRule, milliseconds
from tb_privateuse1.rules.base import percent
from tb_privateuse1.stragglers import Straggler

_LEAST = 0.02
_PART = 0.2
"""Of the excess: what a kernel or a cause has to have of it to be named."""

IDLE = {
    "data_loader": "waiting for its data loader",
    "synchronisation": "with its host in synchronising calls",
    "communication_wait": "in barriers and waits for communication",
    "host_operator": "with its host in operators",
    "host_code": "with its host in Python",
    "launch_latency": "between launches and their starts",
    "unknown": "for reasons that the trace does not tell",
}


def check(case: RankCase) -> Iterator[RankFound]:
    """What the others wait for it, per step."""
    for late in case.stragglers:
        at = case.numbers.index(late.rank)
        saving = min(late.caused_ns / max(case.count[at], 1), _waiting(case, at))
        if case.share(saving) < _LEAST:
            continue
        why, sure = _why(case, late, at)
        yield RankFound(
            title=f"Rank {late.rank} keeps the others waiting: {percent(case.share(saving))} of "
            "their time",
            explanation=f"It came last to {late.last:,} of {late.collectives:,} collectives in "
            f"which somebody waited. {why}",
            evidence=(RankEvidence(late.rank, why),),
            how="What each other rank waits on average in the collectives to which this one comes "
            "last, per step, as far as no computation hides it.",
            saving_ns=saving,
            confidence="high" if sure else "low",
        )


def _waiting(case: RankCase, at: int) -> float:
    others = np.arange(len(case.parts)) != at
    others &= case.count > 0
    return float(case.waiting[others].mean()) if others.any() else 0.0


def _why(case: RankCase, late: Straggler, at: int) -> tuple[str, bool]:
    """In words, and whether the trace tells."""
    excess, hosted = milliseconds(late.excess_ns), case.parts[at].on_host
    more = f"{excess} a step longer than the median of the others"
    if late.cause == "computation":
        verb = "Its operators take" if hosted else "It computes"
        return f"{verb} {more}{_kernel(case, late, at)}.", True
    if late.cause == "copy":
        return f"It copies {more}.", True
    if late.cause != "idle":
        return "What it does longer cannot be told.", False
    told = "It does nothing for" if hosted else "Its device has nothing to do for"
    name, beyond = _most_idle(case, at)
    if beyond < _PART * late.excess_ns:
        return f"{told} {more}.", False
    return f"{told} {more}, {milliseconds(beyond)} of it {IDLE[name]}.", True


def _most_idle(case: RankCase, at: int) -> tuple[str, float]:
    """The cause with most beyond the median of the others."""
    more = {}
    for cause in IDLE:
        own = case.idle(cause)
        more[cause] = float(own[at] - np.median(np.delete(own, at)))
    name = max(more, key=lambda cause: more[cause])
    return name, more[name]


def _kernel(case: RankCase, late: Straggler, at: int) -> str:
    """The kernel with most beyond the median of the others, if it has a part of the excess."""
    others = [part.host.kernels for i, part in enumerate(case.parts) if i != at]
    best, most = "", _PART * late.excess_ns
    for name, own in case.parts[at].host.kernels.items():
        more = own - float(np.median([kernels.get(name, 0) for kernels in others]))
        if more >= most:
            best, most = name, more
    return f", {milliseconds(most)} of it in `{best[:120]}`" if best else ""


RULE = RankRule(
    name="straggler",
    title="A rank that the others wait for",
    looks_for="A rank that is clearly more often the last at collectives than chance has it.",
    why="All ranks are as slow as the slowest.",
    fix="Look at this rank's own page of advice. It computes longer: a slower or throttled device, "
    "or more work (longer samples, another model part). Its device idles: its host, its data "
    "loader, or what only one rank does (logging, checkpoints, evaluation).",
    threshold="2 % of the step: networks vary by that much.",
    reference="HTA and XProf stragglers; docs/definitions.md, stragglers.",
    check=check,
)
