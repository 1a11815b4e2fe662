"""Copies of input to the device while no kernel runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.work_kinds import COPY_TO_HOST

_BETWEEN = r"(?i)HtoD|DtoH|H2D|D2H|Host|Pinned|Pageable"
_READS = r"^aten::(_local_scalar_dense|nonzero|masked_select|is_nonzero|equal)$"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the copies between host and device without a kernel beside them."""
    kernels = case.trace.kernels
    rows = case.copies()
    rows = rows[case.named("kernels", _BETWEEN)[rows]]
    # A value that the program reads goes with the read: ``item_sync`` and ``dynamic_result``.
    rows = rows[case.around(kernels.op[rows], case.named("ops", _READS)) < 0]
    copying = case.time(rows, "kernels")
    exposed = intervals.intersect(copying, case.in_classes("exposed_copy"))
    if case.share(intervals.length(exposed)) < MANY_PLACES:
        return
    results = case.time(rows[case.named("kernels", COPY_TO_HOST)[rows]], "kernels")
    of_results = 2 * intervals.length(intervals.intersect(results, exposed)) > intervals.length(
        exposed
    )
    size = kernels.bytes[rows]
    rate: str = ""
    if (size != MISSING).any():
        has_size = size != MISSING
        length = int((kernels.end_ns - kernels.start_ns)[rows][has_size].sum())
        rate = say(" They moved {rate:.2f} GB/s.", rate=int(size[has_size].sum()) / max(length, 1))
    yield RuleFinding(
        title=say(
            "Copies between host and device take {share} of the time",
            share=percent(case.share(intervals.length(exposed))),
        ),
        explanation=say(
            "{copies} ran while the device computed nothing.{rate}",
            copies=plural(len(rows), "copy"),
            rate=rate,
        ),
        events=len(rows),
        evidence=case.examples("kernels", rows),
        how=say("Exposed copies of the account: such a copy runs, and no kernel."),
        claim=exposed,
        removes=case.without(kernels=rows),
        least=0.0 if of_results else 1.0,
        confidence="medium" if of_results else "high",
        source=case.source(kernels.op[rows].astype(np.int64)),
        lacks=case.lacks("stacks"),
        fix=_OF_RESULTS if of_results else None,
    )


_OF_RESULTS = say(
    "Copy results on another stream into pinned memory with non_blocking=True while the next step "
    "computes, and read them behind an event; send less: the class instead of all scores, half "
    "precision. Where the next step needs them on the host, or the device copies to the host on "
    "its own only, the first saves nothing."
)


RULE = Rule(
    name="exposed_copy",
    title=say("Exposed copies"),
    cause="input",
    looks_for=say("Copies between host and device without a kernel beside them."),
    why=say(
        "The link to the host is the slowest there is; while it is used, the device could compute."
    ),
    fix=say(
        "Copy the next batch on another stream while this one computes (prefetcher), from pinned "
        "memory with non_blocking=True; send less: bytes instead of floats, augmentation on the "
        "device."
    ),
    threshold=say("{least} of the step (TraceLens: 5 %).", least=exact_percent(MANY_PLACES)),
    reference=say("TraceLens memory copies."),
    code=Code(
        before=("for batch in loader:\n    loss = model(batch.to(device))"),
        after=(
            "def copied(batch):\n"
            "    with side:  # a torch.Stream(device)\n"
            "        return batch.to(device, non_blocking=True)  # from pinned memory\n"
            "\n"
            "ahead = copied(next(batches))\n"
            "for batch in batches:\n"
            "    torch.accelerator.current_stream().wait_stream(side)\n"
            "    now, ahead = ahead, copied(batch)\n"
            "    now.record_stream(torch.accelerator.current_stream())\n"
            "    loss = model(now)"
        ),
    ),
    remedy="pinned_copies",
    check=check,
    needs=("device",),
)
