"""Transfers that no computation hides."""

from __future__ import annotations

from collections.abc import Iterator

from tb_privateuse1.rankrules.base import RankCase, RankEvidence, RankFound, RankRule, milliseconds
from tb_privateuse1.rules.base import percent

_LEAST, _HIDDEN = 0.05, 0.5


def check(case: RankCase) -> Iterator[RankFound]:
    """Exposed communication less the waiting for others, and for itself."""
    if all(part.on_host for part in case.parts):
        return
    bare = case.average(case.bare)
    talk = case.average(case.mean("communication_ns"))
    hidden = case.average(case.mean("overlap_ns")) / talk if talk else 1.0
    if case.share(bare) < _LEAST or hidden >= _HIDDEN:
        return
    unknown = (
        f" But {len(case.absent):,} ranks are not here: a part may be waiting for them."
        if case.absent
        else ""
    )
    yield RankFound(
        title=f"Transfers that no computation hides: {percent(case.share(bare))} of the time",
        explanation=f"Of the communication {percent(hidden)} run beside computation. Waiting for "
        f"other ranks is not counted here: this is what the transfers themselves take.{unknown}",
        evidence=tuple(
            RankEvidence(case.numbers[i], f"{milliseconds(case.bare[i])} a step")
            for i in case.most(case.bare)
            if case.bare[i] > 0
        ),
        how="Communication without computation beside it, less waiting for other ranks and what "
        "the host waits for; the mean over the ranks. At most so much can be hidden.",
        saving_ns=bare,
        confidence="low" if case.absent else "medium",
    )


RULE = RankRule(
    name="missing_overlap",
    title="Communication and computation take turns",
    looks_for="Communication of which less than half runs beside computation.",
    why="Devices that only talk compute nothing.",
    fix="Start gradients' collectives during the backward pass (DDP with smaller buckets, FSDP "
    "with backward_prefetch and forward_prefetch), on a stream of their own; split large ones; "
    "send less (bf16 gradients, accumulation).",
    threshold="5 % of the step (TraceLens), and less than half hidden.",
    reference="HTA communication computation overlap; TraceLens.",
    check=check,
)
