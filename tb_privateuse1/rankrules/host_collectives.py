"""Ranks with a device whose communication runs on the host: the wrong backend."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.rankrules.base import RankCase, RankEvidence, RankFound, RankRule, milliseconds
from tb_privateuse1.rules.base import percent

_LEAST = 0.02


def check(case: RankCase) -> Iterator[RankFound]:
    """By the calls that ran on the host, of ranks that have device times."""
    calls = case.calls
    hosted = np.array([shape.label.on_host for shape in calls.shapes] + [False], np.bool_)
    has_device = np.array([not part.on_host for part in case.parts], np.bool_)
    rows = np.flatnonzero(hosted[calls.shape] & has_device[calls.rank] & (calls.row >= 0))
    rows = rows[case.counted[calls.row[rows]]]
    total = np.bincount(calls.rank[rows], calls.duration_ns[rows], minlength=len(case.parts))
    each = total / np.maximum(case.count, 1)
    spent = case.average(each)
    if case.share(spent) < _LEAST:
        return
    kinds = sorted({calls.shapes[i].label.kind for i in np.unique(calls.shape[rows]).tolist()})
    yield RankFound(
        title=f"Ranks with a device communicate on the host: {percent(case.share(spent))} of the "
        "time",
        explanation=f"{len(rows):,} calls ({', '.join(kinds)}) went through the host's memory and "
        "network, by way of gloo.",
        evidence=tuple(
            RankEvidence(case.numbers[i], f"{milliseconds(each[i])} a step on the host")
            for i in case.most(each)
            if each[i] > 0
        ),
        how="No saving is given: how fast the device's own library is cannot be told from here. "
        "The figure is the time of these calls per step.",
        confidence="high",
        urgent=True,
    )


RULE = RankRule(
    name="host_collectives",
    title="Collectives on the host",
    looks_for="Calls of gloo on ranks that have a device.",
    why="Each tensor goes to the host and back, and over the slower network.",
    fix="Use the device's own backend: init_process_group('cuda:nccl,cpu:gloo'), or the process "
    "group that the vendor registers for PrivateUse1.",
    threshold="2 % of the step: barriers and small metrics on the host are fine.",
    reference="torch.distributed: which backend to use.",
    check=check,
)
