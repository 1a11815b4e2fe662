"""Copies between host and device that block the host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.rules.base import (
    Code,
    Rule,
    RuleContext,
    RuleFinding,
    percent,
    plural,
    say,
)
from tb_privateuse1.trace import intervals

_NAMES = r"^aten::(copy_|_copy_from|_to_copy)$"
_OTHERS = (
    r"^aten::(item|_local_scalar_dense|is_nonzero|equal|allclose|nonzero|masked_select|_to_cpu)$"
)
_PAGEABLE = r"[Pp]ageable"
_LEAST = 0.01


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the waits inside copies that no other rule reports."""
    waits = case.waits_in(case.named("ops", _NAMES))
    table = case.limits.waits
    is_reported = case.around(table.op[waits], case.named("ops", _OTHERS)) >= 0
    claim = case.idle_by_waits(waits[~is_reported])
    if case.share(intervals.length(claim)) < _LEAST:
        return
    ops = np.unique(table.op[waits[~is_reported]]).astype(np.int64)
    pageable = len(case.kernels(_PAGEABLE))
    pinned = say(
        " {copies} used pageable memory, for which non_blocking has no effect.",
        copies=plural(pageable, "copy"),
    )
    yield RuleFinding(
        title=say(
            "Blocking copies cost {share} of the time",
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "In {copies} between host and device the host waited until the data was there, and "
            "the device then had nothing queued.{pinned}",
            copies=plural(len(ops), "copy"),
            pinned=pinned if pageable else "",
        ),
        events=len(ops),
        evidence=case.examples("ops", ops),
        how=say(
            "After each wait, the time in which the device had nothing to do, at most as long as "
            "the wait."
        ),
        claim=claim,
        removes=case.without(waits=waits[~is_reported]),
        confidence="high",
        source=case.source_of_waits(waits[~is_reported], claim),
        lacks=case.lacks("stacks"),
    )


RULE = Rule(
    name="blocking_copy",
    title=say("Blocking copies"),
    cause="waiting",
    looks_for=say("Waits inside of `aten::copy_` and `_copy_from`, beside those of `.item()`."),
    why=say(
        "A copy from pageable memory, or one without non_blocking, stops the host until it is done."
    ),
    fix=say(
        "Put host tensors into pinned memory (DataLoader(pin_memory=True), tensor.pin_memory()) "
        "and copy with .to(device, non_blocking=True); read results back rarely."
    ),
    threshold=say("1 % of the step: two arguments fix it."),
    reference=say("PyTorch tutorial on pin_memory and non_blocking."),
    code=Code(
        before="x = batch.to(device)",
        after=("# DataLoader(..., pin_memory=True)\nx = batch.to(device, non_blocking=True)"),
    ),
    check=check,
    needs=("device", "operators"),
)
