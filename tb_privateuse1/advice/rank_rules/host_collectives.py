"""Collectives on the host although the ranks have a device: the wrong backend."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rank_rules.rank_rule import (
    RankContext,
    RankEvidence,
    RankFinding,
    RankRule,
    milliseconds,
)
from tb_privateuse1.advice.rules.rule import exact_percent
from tb_privateuse1.advice.thresholds import USUAL
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.i18n.units import percent

_MOSTLY = 0.5
"""Share of the exposed transfers from which on the host's backend explains them."""


def check(case: RankContext) -> Iterator[RankFinding]:
    """Yield the calls on the host of ranks that have device times."""
    calls = case.calls
    hosted = np.array([shape.label.on_host for shape in calls.shapes] + [False], np.bool_)
    has_device = np.array([not part.on_host for part in case.parts], np.bool_)
    rows = np.flatnonzero(hosted[calls.shape] & has_device[calls.rank] & (calls.row >= 0))
    rows = rows[case.counted[calls.row[rows]]]
    total = np.bincount(calls.rank[rows], calls.duration_ns[rows], minlength=len(case.parts))
    by_rank = total / np.maximum(case.count, 1)
    hosted_ns = case.average(by_rank)
    if case.share(hosted_ns) < USUAL:
        return
    bare = case.average(case.transfers)
    same = bare > 0 and case.average(np.minimum(by_rank, case.transfers)) >= _MOSTLY * bare
    kinds = sorted({calls.shapes[i].label.kind for i in np.unique(calls.shape[rows]).tolist()})
    yield RankFinding(
        title=say(
            "Ranks with a device communicate on the host: {share} of the time",
            share=percent(case.share(hosted_ns)),
        ),
        explanation=say(
            "{calls:,} calls ({names}) went through the host's memory and network, by way of gloo.",
            calls=len(rows),
            names=join_list(kinds),
        ),
        evidence=tuple(
            RankEvidence(
                case.numbers[i], say("{time} a step on the host", time=milliseconds(by_rank[i]))
            )
            for i in case.most(by_rank)
            if by_rank[i] > 0
        ),
        how=say(
            "The figure is the time of these calls per step. The recording does not show how fast "
            "the device's own library is."
        ),
        confidence="high",
        urgent=True,
        explains="missing_overlap" if same else None,
    )


RULE = RankRule(
    name="host_collectives",
    title=say("Collectives on the host"),
    looks_for=say("Calls of gloo on ranks that have a device."),
    why=say("Each tensor goes to the host and back, and over the slower network."),
    fix=say(
        "Use the device's own backend: init_process_group('cuda:nccl,cpu:gloo'), or the process "
        "group that the vendor registers for PrivateUse1."
    ),
    threshold=say(
        "{least} of the step: barriers and small metrics on the host are fine.",
        least=exact_percent(USUAL),
    ),
    reference=say("torch.distributed: which backend to use."),
    check=check,
)
