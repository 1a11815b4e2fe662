"""Large collectives far below the bandwidth of links, and groups slower than their siblings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rank_rules.rank_rule import (
    MOST_RANKS,
    RankContext,
    RankEvidence,
    RankFinding,
    RankRule,
)
from tb_privateuse1.advice.rules.rule import exact_percent
from tb_privateuse1.advice.thresholds import USUAL
from tb_privateuse1.analysis.ranks.bandwidth import CollectiveRow
from tb_privateuse1.analysis.ranks.culprits import Culprit
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent

_LARGE_BYTES = 16 << 20
"""From here on bandwidth rules and not latency: 0.3 ms at the 50 GB/s of a network of 400 Gbit/s,
ten times a latency of 30 µs."""
_SLOWEST = 1.25e9
"""10 Gbit/s: a twentieth of the slowest network of the systems below."""
_TIMES = 4
"""Half of the least ratio between a device's links in the node and its network outside, in one
direction each: 300 to 25 GB/s (DGX A100: NVLink 600 GB/s in both, HDR InfiniBand 200 Gbit/s),
450 to 50 (DGX H100: 900 GB/s, NDR 400 Gbit/s), 196 to 25 (Atlas 800T A2: HCCS 392 GB/s, RoCE
200 Gbit/s). The makers' specifications were read as others quote them."""
_HOW = say(
    "No saving is given: how fast the link can be is in no trace. The bandwidth is "
    "that of the transfer alone, without waiting for ranks that come later."
)


def check(case: RankContext) -> Iterator[RankFinding]:
    """Yield calls with a low bandwidth of the transfer alone, then groups slower than siblings."""
    named = set()
    for row, finding in _below_links(case):
        named.add(row.group)
        yield finding
    for culprit in case.culprits:
        if culprit.kind == "link" and culprit.group not in named:
            yield _than_siblings(case, culprit)


def _than_siblings(case: RankContext, culprit: Culprit) -> RankFinding:
    excess = culprit.excess_ns or 0
    return RankFinding(
        title=say(
            "Group {group} transfers {share} of the step longer than its siblings",
            group=culprit.group,
            share=percent(case.share(excess)),
        ),
        explanation=say(
            "Its collectives take {time:.3g} ms a step longer than the same calls of other groups "
            "of its size, in {steps:,} of {of_steps:,} steps.",
            time=excess / 1e6,
            steps=culprit.steps,
            of_steps=culprit.of_steps,
        ),
        evidence=tuple(
            RankEvidence(rank, say("member of group {group}", group=culprit.group))
            for rank in culprit.ranks[:MOST_RANKS]
        ),
        how=_HOW,
        confidence="medium",
        urgent=True,
    )


def _below_links(case: RankContext) -> Iterator[tuple[CollectiveRow, RankFinding]]:
    """Yield by kind, group and bytes if the bandwidth of the transfer alone is low."""
    rows = [c for c in case.collectives if _known(c)]
    best: dict[tuple[str, int | None], float] = {}
    for row in rows:
        key = row.kind, row.group_size
        best[key] = max(best.get(key, 0.0), row.bus_bytes_per_s or 0.0)
    ranks = max(len(case.parts), 1)
    steps = max(float(case.count.sum()) / ranks, 1.0)
    for row in rows:
        bus, reach = row.bus_bytes_per_s or 0.0, best[row.kind, row.group_size]
        transfer_ns = (row.transfer_ns or 0) * row.calls / ranks / steps
        slow = bus < max(_SLOWEST, reach / _TIMES)
        if not slow or case.share(transfer_ns) < USUAL:
            continue
        comparison = (
            say("Another group of as many ranks reaches {rate:.3g} GB/s.", rate=reach / 1e9)
            if reach > _TIMES * bus
            else say("Links between devices carry tens of GB/s, and a network of 10 Gbit/s 1.25.")
        )
        group = say(" of group {group}", group=row.group) if row.group else ""
        yield (
            row,
            RankFinding(
                title=say(
                    "{kind}{group} at {rate:.2g} GB/s: {share} of the time",
                    kind=row.kind.replace("_", "-"),
                    group=group,
                    rate=bus / 1e9,
                    share=percent(case.share(transfer_ns)),
                ),
                explanation=say(
                    "{calls:,} calls of {size:,} MiB. {than}",
                    calls=row.calls,
                    size=(row.bytes or 0) >> 20,
                    than=comparison,
                ),
                evidence=_members(case, row),
                how=_HOW,
                confidence="medium",
                urgent=True,
            ),
        )


def _known(row: CollectiveRow) -> bool:
    large = row.bytes is not None and row.bytes >= _LARGE_BYTES
    all_here = row.group_size is None or row.ranks >= row.group_size
    return (
        large
        and all_here
        and row.matched > 0
        and not row.on_host
        and row.bus_bytes_per_s is not None
    )


def _members(case: RankContext, row: CollectiveRow) -> tuple[RankEvidence, ...]:
    calls = case.calls
    same_shape = [
        s.label.kind == row.kind and s.label.group == (row.group or "") and s.bytes == row.bytes
        for s in calls.shapes
    ]
    at = np.flatnonzero(np.array([*same_shape, False], np.bool_)[calls.shape] & case.in_step)
    took = np.bincount(calls.rank[at], calls.transfer_ns[at], minlength=len(case.parts))
    count = np.bincount(calls.rank[at], minlength=len(case.parts))
    mean = took / np.maximum(count, 1)
    return tuple(
        RankEvidence(
            case.numbers[i],
            say(
                "{calls:,} calls, {time:.3g} ms each",
                calls=int(count[i]),
                time=float(mean[i]) / 1e6,
            ),
        )
        for i in case.most(took.astype(float))
        if count[i]
    )


RULE = RankRule(
    name="slow_link",
    title=say("Slow links"),
    looks_for=say(
        "Collectives of {large_bytes} MiB and more below 1.25 GB/s, or at less than a quarter of "
        "what another group of as many ranks reaches. A group whose transfers take longer than "
        "those of its siblings in more steps than chance allows.",
        large_bytes=_LARGE_BYTES >> 20,
    ),
    why=say(
        "A library that falls back to sockets, or the wrong network, is slower by a factor of ten."
    ),
    fix=say(
        "Look at the library's own log for the transport that it chose (NCCL_DEBUG=INFO and the "
        "like): sockets instead of RDMA or peer-to-peer, a wrong interface (NCCL_SOCKET_IFNAME), "
        "ranks of one group spread over nodes, a link that is down."
    ),
    threshold=say(
        "{large_bytes} MiB: from there on bandwidth rules, not latency. {slowest} Gbit/s is below "
        "any link that training uses; groups of equal size differ by four where one has left the "
        "node. For siblings: 10 % of their transfers, {least} of the step, and an error rate of "
        "0.25 %.",
        large_bytes=_LARGE_BYTES >> 20,
        slowest=round(_SLOWEST * 8 / 1e9),
        least=exact_percent(USUAL),
    ),
    reference=say("nccl-tests; msprof-analyze slow link."),
    check=check,
)
